// A bound on a wait.

/** What `promise` gives, or a rejection with `late()` after that many milliseconds. */
export async function within<T>(
  milliseconds: number,
  promise: PromiseLike<T>,
  late: () => Error,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), milliseconds);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
