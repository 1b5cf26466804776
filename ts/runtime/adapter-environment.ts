// The environment of an adapter's process: an allow-list of the host's, and what the host gives.

/** Variables that every adapter gets from the host, where they are set. None of them holds a secret by custom. */
export const INHERITED: readonly string[] =
  process.platform === "win32"
    ? [
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
      ]
    : [
        "HOME",
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_CTYPE",
        "LC_MESSAGES",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TMPDIR",
        "TZ",
        "USER",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_DIRS",
        "XDG_CONFIG_HOME",
        "XDG_DATA_DIRS",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
      ];

/** Names and values: those of the allow-list, then those that are given; an undefined one is taken away. */
export function adapterEnvironment(
  given: Readonly<Record<string, string | undefined>>,
  host: NodeJS.ProcessEnv = process.env,
): Map<string, string> {
  const result = new Map<string, string>();
  // On Windows names differ by more than their case; there the host's object is asked without it.
  for (const name of INHERITED) {
    const value = host[name];
    if (value !== undefined) result.set(name, value);
  }
  for (const [name, value] of Object.entries(given)) {
    const key = process.platform === "win32" ? name.toUpperCase() : name;
    if (value === undefined) result.delete(key);
    else result.set(key, value);
  }
  return result;
}
