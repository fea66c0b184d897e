/** A reporter for vitest: writes one JSON line a test to the file in GANTRY_TEST_COUNTS, for the closing lines of `npm test`. */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';

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
        add({ file, name: test.fullName, state, note: result.note ?? null });
      }
      for (const error of module.errors()) add({ file, name: error.message, state: 'failed', note: null });
    }
    for (const error of errors)
      add({ file: 'test/unhandled', name: String(error.message), state: 'failed', note: null });
    appendFileSync(process.env.GANTRY_TEST_COUNTS, lines.join(''));
  }
}
