/** A reporter for vitest: writes one JSON line a test to the file in GANTRY_TEST_COUNTS, for the closing lines of `npm test`. */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

// biome-ignore lint/style/noDefaultExport: vitest takes a reporter from the default export of its file.
export default class CountReporter {
  onTestRunEnd(modules, errors) {
    const lines = [];
    const add = (entry) => lines.push(`${JSON.stringify(entry)}\n`);
    for (const module of modules) {
      const file = relative(process.cwd(), module.moduleId);
      for (const test of module.children.allTests()) {
        const result = test.result();
        // A test that never got to run (its run was cut, a hook failed) has not passed.
        const state = result.state === 'passed' || result.state === 'skipped' ? result.state : 'failed';
        const { id, fullName: name } = test;
        add({ file, id, name, state, note: result.note ?? null, message: lineOf(result.errors?.[0]) });
      }
      for (const error of module.errors()) add(failure(file, error));
    }
    // What nobody caught belongs to the file that ran, as far as vitest knows it.
    for (const error of errors) {
      const path = error.VITEST_TEST_PATH;
      add(failure(path === undefined ? 'test/unhandled' : relative(process.cwd(), path), error));
    }
    appendFileSync(process.env.GANTRY_TEST_COUNTS, lines.join(''));
  }
}

const failure = (file, error) => {
  const message = lineOf(error);
  return { file, id: `${file} ${message}`, name: message, state: 'failed', note: null, message };
};

/** What an error says, in one line without colours. */
function lineOf(error) {
  const words = String(error?.message ?? 'it did not get to run');
  return stripVTControlCharacters(words).replace(/\s+/g, ' ').slice(0, 300);
}
