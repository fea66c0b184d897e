/** `http.get` and `http.post`: one request under the guard of outgoing requests. Must not know policy or approvals. */
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { defineTool, type Tool } from './tool.ts';
import { contentTypeOf, type Web, type WebAnswer } from './web.ts';

const defaultBytes = 256 * 1024;
const maxAnswerBytes = 8 * 1024 * 1024;
const defaultTimeoutMs = 30_000;
const maxTimeoutMs = 5 * 60_000;
/** These are the connection's own, or could make another request of this one. */
const notTheirs =
  /^(?:host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|proxy-.*)$/i;
/** Shown only by name: approved text is kept in databases and on telephones. */
const secretHeader = /auth|cookie|key|secret|token|signature|password/i;
const textual = /^(?:text\/|application\/(?:json|xml|javascript|x-www-form-urlencoded|[a-z0-9.-]+\+(?:json|xml))\b)/i;

const Headers = z
  .record(
    z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/),
    z
      .string()
      .max(16_384)
      .regex(/^[^\r\n\0]*$/),
  )
  .optional();
const Input = z.strictObject({
  url: z.string().min(1).max(8192).meta({ description: 'http or https.' }),
  headers: Headers,
  body: z.string().max(4_000_000).optional(),
  maxBytes: z
    .number()
    .int()
    .min(1)
    .max(maxAnswerBytes)
    .optional()
    .meta({ description: `Of the answer; a longer one is cut. Default ${defaultBytes}.` }),
  timeoutMs: z
    .number()
    .int()
    .min(100)
    .max(maxTimeoutMs)
    .optional()
    .meta({ description: `Default ${defaultTimeoutMs}.` }),
});
const Output = z.strictObject({
  status: z.number(),
  url: z.string().meta({ description: 'The final address, after redirects.' }),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  encoding: z.enum(['utf8', 'base64']),
  size: z.number().meta({ description: 'Bytes of the body in this result.' }),
  truncated: z.boolean(),
});

export function createHttpTools({ web }: { readonly web: Web }): Tool[] {
  const tool = (method: 'GET' | 'POST', title: string, description: string): Tool =>
    defineTool({
      name: `http.${method.toLowerCase()}`,
      title,
      description: `${description} Up to three redirects are followed where the policy allows; credentials stay with their origin. Addresses of this computer and of private networks are refused unless a policy rule names their host.`,
      input: Input,
      output: Output,
      // An address can carry a secret out.
      readOnly: false,
      annotations: { destructiveHint: method === 'POST', openWorldHint: true },
      async plan({ url, headers = {}, body, maxBytes = defaultBytes, timeoutMs = defaultTimeoutMs }) {
        const foreign = Object.keys(headers).find((name) => notTheirs.test(name));
        if (foreign !== undefined) {
          throw new AppError('usage', `The connection sets the header ${foreign} itself.`, 'Leave it out.');
        }
        const planned = web.host(url);
        const request = {
          method,
          url,
          headers: { 'user-agent': 'Gantry', 'accept-encoding': 'identity', ...lowerCase(headers) },
          ...(body === undefined ? {} : { body }),
          timeoutMs,
          largestAnswer: maxBytes,
          longer: 'cut' as const,
        };
        return {
          ...planned,
          risk: method === 'POST' ? ('high' as const) : ('medium' as const),
          title: `${method === 'POST' ? 'Send to' : 'Fetch from'} ${planned.host}`,
          summary: summaryOf(method, url, headers, body),
          run: async (signal, may) => shown(await web.request({ ...request, signal }, planned, may)),
        };
      },
      say: (output) =>
        [
          `HTTP ${output.status} ${output.url}`,
          ...Object.entries(output.headers).map(([name, value]) => `${name}: ${value}`),
          '',
          output.encoding === 'utf8' ? output.body : `[${output.size} bytes, not text; base64 in the data]`,
          ...(output.truncated ? [`[cut after ${output.size} bytes: raise maxBytes for more]`] : []),
        ].join('\n'),
    });
  return [
    tool('GET', 'Fetch an address', 'Sends a GET request and returns the answer.'),
    tool('POST', 'Send to an address', 'Sends a POST request with a body and returns the answer.'),
  ];
}

function shown(answer: WebAnswer): z.infer<typeof Output> {
  const { status, url, body, truncated } = answer;
  const text = textOf(answer);
  const headers = Object.entries(answer.headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  );
  return {
    status,
    url,
    headers: Object.fromEntries(headers),
    body: text ?? body.toString('base64'),
    encoding: text === null ? 'base64' : 'utf8',
    size: body.length,
    truncated,
  };
}

/** Null for anything but text. */
function textOf(answer: WebAnswer): string | null {
  const type = contentTypeOf(answer);
  const coded = answer.headers['content-encoding'];
  if (coded !== undefined && coded !== 'identity') return null;
  const charset = /charset="?([^";\s]+)/i.exec(type)?.[1];
  try {
    if (charset !== undefined && (textual.test(type) || type === ''))
      return new TextDecoder(charset).decode(answer.body);
    // A cut may have gone through a character.
    const fatal = !textual.test(type);
    return new TextDecoder('utf-8', { fatal }).decode(answer.body, { stream: answer.truncated });
  } catch {
    return null;
  }
}

function summaryOf(method: string, url: string, headers: Readonly<Record<string, string>>, body?: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${secretHeader.test(name) ? '•••' : value}`);
  return [`${method} ${url}`, ...lines, ...(body === undefined ? [] : ['', body])].join('\n');
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
