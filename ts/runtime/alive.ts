// What keeps a script alive while something is waited for that the addon will tell: its calls never do.

const holders = new Set<object>();
let timer: NodeJS.Timeout | undefined;

/** Keeps the script alive for `holder`, or does so no longer. */
export function hold(holder: object, isHeld: boolean): void {
  if (isHeld) holders.add(holder);
  else holders.delete(holder);
  if (holders.size > 0) timer ??= setInterval(() => undefined, 2 ** 30);
  else {
    clearInterval(timer);
    timer = undefined;
  }
}
