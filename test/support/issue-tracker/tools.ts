/** What a program may do in the tracker: `create_issue`, `list_issues`, `comment_issue`, `close_issue`. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Issue, Issues } from './issues.ts';
import type { Method } from './mcp.ts';
import type { Principal } from './oauth.ts';
import { RpcFault } from './rpc.ts';

interface Tool {
  readonly description: string;
  readonly scope: 'issues:read' | 'issues:write';
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** undefined: there is no such issue. */
  run(args: Readonly<Record<string, unknown>>, user: string): Readonly<Record<string, unknown>> | undefined;
}

const text = { type: 'string' };
const number = { type: 'integer', minimum: 1 };
const input = (properties: Readonly<Record<string, unknown>>, required: readonly string[]) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

export function createTools(issues: Issues): { list: Method; call: Method } {
  const one = (found: { readonly issue: Issue } | undefined) => found && { issue: found.issue };
  const tools: Readonly<Record<string, Tool>> = {
    close_issue: {
      description: 'Close an issue.',
      scope: 'issues:write',
      inputSchema: input({ number }, ['number']),
      run: (args) => one(issues.close(Number(args.number))),
    },
    comment_issue: {
      description: 'Comment on an issue.',
      scope: 'issues:write',
      inputSchema: input({ number, text }, ['number', 'text']),
      run: (args, author) => one(issues.comment(Number(args.number), { author, text: String(args.text) })),
    },
    create_issue: {
      description: 'Open an issue.',
      scope: 'issues:write',
      inputSchema: input({ project: text, title: text, body: text, labels: { type: 'array', items: text } }, [
        'project',
        'title',
      ]),
      run: (args, author) =>
        one(
          issues.open({
            project: String(args.project),
            title: String(args.title),
            author,
            ...(args.body === undefined ? {} : { body: String(args.body) }),
            ...(Array.isArray(args.labels) ? { labels: args.labels.map(String) } : {}),
          }),
        ),
    },
    list_issues: {
      description: 'The issues of a project, or of all.',
      scope: 'issues:read',
      inputSchema: input({ project: text, state: { enum: ['open', 'closed'] } }, []),
      run: (args) => ({
        issues: issues.list({
          ...(args.project === undefined ? {} : { project: String(args.project) }),
          ...(args.state === undefined ? {} : { state: String(args.state) }),
        }),
      }),
    },
  };
  const ajv = new Ajv2020();
  const checks = new Map<string, ValidateFunction>(
    Object.entries(tools).map(([name, tool]) => [name, ajv.compile(tool.inputSchema)]),
  );
  const said = (content: string, isError = false) => ({
    content: [{ type: 'text', text: content }],
    ...(isError ? { isError } : {}),
  });
  return {
    list: () => ({
      tools: Object.entries(tools).map(([name, { description, inputSchema, scope }]) => ({
        name,
        description,
        inputSchema,
        annotations: { readOnlyHint: scope === 'issues:read' },
      })),
    }),
    call(params, principal: Principal | undefined) {
      const name = String(params.name);
      const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
      if (tool === undefined) throw new RpcFault(-32602, `Unknown tool: ${name}`);
      if (principal !== undefined && !principal.scopes.includes(tool.scope))
        return said(`This program was not allowed ${tool.scope}.`, true);
      const args = (params.arguments ?? {}) as Readonly<Record<string, unknown>>;
      const check = checks.get(name);
      if (check?.(args) !== true) return said(`Wrong arguments: ${ajv.errorsText(check?.errors)}`, true);
      const structuredContent = tool.run(args, principal?.user ?? 'somebody');
      if (structuredContent === undefined) return said(`There is no issue ${args.number}.`, true);
      return { ...said(JSON.stringify(structuredContent)), structuredContent };
    },
  };
}
