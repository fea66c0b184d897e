/** A pid that could not be read counts as 0, and a signal to 0 reaches the whole group of the test run, to -1 every process. */
const kill = process.kill;

export function refuseToEndAll(): void {
  process.kill = (pid, signal) => {
    if (Number.isNaN(pid) || Math.abs(pid) <= 1)
      throw new Error(`This signal would reach more than one process: ${pid}.`);
    return kill.call(process, pid, signal);
  };
}
