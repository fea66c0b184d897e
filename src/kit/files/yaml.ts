/**
 * Parses YAML that anybody may have written. The parser compares each key of a map with each before it, so that a few hundred kilobytes of keys block
 * the program for minutes: here equal keys are found in one pass. The caller checks nesting first (`nesting.ts`). Must not know what the file means.
 */
import { type Document, isScalar, type LineCounter, parseDocument, visit, YAMLParseError } from 'yaml';

export function readYaml(text: string, lineCounter?: LineCounter): Document.Parsed {
  const document = parseDocument(text, {
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: false,
    ...(lineCounter === undefined ? {} : { lineCounter }),
  });
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) {
          const at = key.range?.[0] ?? 0;
          document.errors.push(new YAMLParseError([at, at + 1], 'DUPLICATE_KEY', 'Map keys must be unique'));
        }
        seen.add(key.value);
      }
    },
  });
  return document;
}
