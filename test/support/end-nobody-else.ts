/** A pid that could not be read counts as 0, and a signal to 0 reaches the whole group of the test run, to -1 every process. */
const { kill } = process;

function killOne(pid: number, signal?: string | number): true {
  const asks = signal === 0;
  if (!asks && (Number.isNaN(pid) || Math.abs(pid) <= 1))
    throw new Error(`This signal would reach more than one process: ${pid}.`);
  return kill.call(process, pid, signal);
}

export function refuseToEndAll(): void {
  // Files that share a worker begin one after the other.
  if (process.kill.name !== killOne.name) process.kill = killOne;
}
