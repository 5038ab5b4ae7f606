/** What another process needs of memory, as the system says it. Linux only, as `/proc` is. */
import { readFile } from "node:fs/promises";

/** Resident memory of a process. */
export interface ProcessMemory {
  /** Now, in MiB. */
  readonly nowMib: number;
  /** At most so far, in MiB. */
  readonly peakMib: number;
}

/** Reads the memory of a process. Throws where there is no such process. */
export async function memoryOf(pid: number | undefined): Promise<ProcessMemory> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]);
  return { nowMib: kib("VmRSS") / 1024, peakMib: kib("VmHWM") / 1024 };
}
