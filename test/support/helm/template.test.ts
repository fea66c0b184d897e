/** The renderer of templates refuses what it does not know, so that a chart which uses more of the language fails a test. */
import { expect, test } from 'vitest';
import { renderTemplate } from './template.ts';

test('white space, conditions and pipelines are those of text/template', () => {
  const data = { Values: { on: true, off: false, none: {}, name: 'a', list: ['x'] } };
  const source =
    'a:\n  {{- if .Values.on }}\n  b: {{ .Values.name | quote }}\n  {{- else }}\n  c: 1\n  {{- end }}\nd: 1\n';
  expect(renderTemplate(source, data)).toBe('a:\n  b: "a"\nd: 1\n');
  expect(renderTemplate('{{ if not .Values.on }}x{{ else }}y{{ end }}', data)).toBe('y');
  expect(renderTemplate('x{{- with .Values.none }}{{ . }}{{ end -}} y', data)).toBe('xy');
  expect(renderTemplate('{{ with .Values.list }}{{ toYaml . | nindent 2 }}{{ end }}', data)).toBe('\n  - x');
});

test.each([
  ['{{ range .Values.list }}{{ end }}', /ends nothing/],
  ['{{ include "a" . }}', /no function include|no include/],
  ['{{ .Values.nothing }}', /there is no nothing/],
  ['{{ if .Values.on }}', /has no end/],
  ['{{ end }}', /ends nothing/],
  ['{{ (not .Values.on) }}', /knows no/],
  ['{{ $x := 1 }}', /knows no/],
  ['{{ .Values }}', /would print/],
  ['{{/* a comment */}}', /knows no/],
  ['{{ }}', /is empty/],
  ['{{ .Values.on', /no action/],
])('%s is refused', (source, said) => {
  expect(() => renderTemplate(source, { Values: { on: true, list: [] } })).toThrow(said);
});
