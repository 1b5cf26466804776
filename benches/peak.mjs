// Imported by a process whose memory is measured: prints its peak of resident memory in KiB when it ends.
import { readFileSync, writeSync } from "node:fs";

process.on("exit", () => {
  writeSync(2, peak());
});

function peak() {
  try {
    return /^VmHWM:\s*(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))[1];
  } catch {
    // Another system than Linux. There the figure may be that of the process which started this one.
    return String(process.resourceUsage().maxRSS);
  }
}
