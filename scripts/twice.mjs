/**
 * Files with a test that failed are run once more, alone, after the rest: a busy machine is no defect of the product. What passes then
 * counts as passed and is named all the same, so that a test that cannot be relied on is never silent. Pure: must not run anything.
 */

/** More files than that are no bad luck: what is broken is told at once. */
const maxFiles = 10;

/** The reporter's rows → the files to run again. */
export function filesToRunAgain(rows) {
  const files = [...new Set(rows.filter(failed).map((row) => row.file))];
  return files.length > maxFiles ? [] : files.filter((file) => file.startsWith('test/') && file.includes('.test.'));
}

/** The rows that count, and those that failed in one run while the other passed. A file that was not run again keeps its rows. */
export function joinRuns(first, second) {
  const files = new Set(second.map((row) => row.file));
  const passedAtFirst = (row) => first.some((one) => same(one, row) && one.state === 'passed');
  const rows = [
    ...first.filter((row) => !files.has(row.file)),
    ...second.map((row) => (failed(row) && passedAtFirst(row) ? { ...row, state: 'passed' } : row)),
  ];
  const stands = (row) => rows.some((one) => failed(one) && same(one, row));
  return { rows, unstable: [...first, ...second].filter((row) => failed(row) && !stands(row)) };
}

const failed = (row) => row.state === 'failed';
/** Two tests of a file may have the same name. */
const same = (one, other) => one.id === other.id;
