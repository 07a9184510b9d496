// The processor time of a process, which says on a busy machine, too, what work costs it.

import { readFileSync } from "node:fs";

/** The seconds that a process has used so far. Linux counts in hundredths. */
export function cpuSeconds(pid) {
  // The name, in parentheses, may contain spaces. The times are the 14th and 15th field.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
