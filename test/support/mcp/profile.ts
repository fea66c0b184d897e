/**
 * A server of MCP with the tools, prompts and resources that the protocol's own suite calls by name, made with `kit/mcp` as the
 * product's is. Must not know how it is reached.
 */
import { AppError } from '../../../src/contracts/common/errors.ts';
import type { ToolResult } from '../../../src/contracts/tool-server/tools.ts';
import { createMcpService } from '../../../src/kit/mcp/create-service.ts';
import type {
  JsonObject,
  ListedPrompt,
  ListedResource,
  ListedTool,
  McpService,
  McpServiceOptions,
  ResourceContents,
} from '../../../src/kit/mcp/service.ts';
import { inputRequiredPrompts, inputRequiredTools, withInputRequired } from './input-required.ts';
import { createProfileTasks, taskTools } from './profile-tasks.ts';

/** One red point. */
export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** No sound, 8 kHz. */
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const noArguments: JsonObject = { type: 'object', additionalProperties: false };
const text = (said: string): ToolResult => ({ content: [{ type: 'text', text: said }], isError: false });
const only = (...content: ToolResult['content']): ToolResult => ({ content, isError: false });

interface FixtureTool extends ListedTool {
  call(args: JsonObject): ToolResult | Promise<ToolResult>;
}

function tool(
  name: string,
  description: string,
  call: FixtureTool['call'],
  inputSchema = noArguments,
): [string, FixtureTool] {
  return [name, { name, description, inputSchema, call }];
}

/** As the suite wants it kept, keyword by keyword (SEP-1613, SEP-2106). */
const schema2020: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

const mixed = {
  uri: 'test://mixed-content-resource',
  mimeType: 'application/json',
  text: '{"test":"data","value":123}',
};
const embedded = (uri: string, said: string) => ({
  type: 'resource',
  resource: { uri, mimeType: 'text/plain', text: said },
});

const tools = new Map<string, FixtureTool>([
  tool('test_simple_text', 'Answers a text.', () => text('This is a simple text response for testing.')),
  tool('test_image_content', 'Answers an image.', () => only({ type: 'image', data: png, mimeType: 'image/png' })),
  tool('test_audio_content', 'Answers a sound.', () => only({ type: 'audio', data: wav, mimeType: 'audio/wav' })),
  tool('test_embedded_resource', 'Answers a resource.', () =>
    only(embedded('test://embedded-resource', 'This is an embedded resource content.')),
  ),
  tool('test_multiple_content_types', 'Answers a text, an image and a resource.', () =>
    only(
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: png, mimeType: 'image/png' },
      { type: 'resource', resource: mixed },
    ),
  ),
  tool('test_error_handling', 'Fails.', () => {
    throw new AppError('usage', 'This tool intentionally returns an error for testing.', '');
  }),
  tool('test_tool_with_progress', 'Takes a while.', () => text('Done; progress is not told over plain JSON.')),
  tool('greet', 'Greets.', ({ name }) => text(`Hello, ${String(name)}!`), {
    type: 'object',
    properties: { name: { type: 'string' } },
    required: ['name'],
    additionalProperties: false,
  }),
  tool('test_logging_tool', 'Would log, were it asked to.', () => text('Nothing was logged.')),
  tool('test_missing_capability', 'Needs a client that samples.', () => text('Sampled.')),
  tool('test_streaming_elicitation', 'Would ask while it answers.', () => text('Nothing was asked.')),
  tool(
    'test_structured',
    'Answers a number and a text, as its schema says.',
    ({ left, right }) => {
      const sum = Number(left) + Number(right);
      return { ...text(`{"sum":${sum}}`), structuredContent: { sum } };
    },
    {
      type: 'object',
      properties: { left: { type: 'number' }, right: { type: 'number' } },
      required: ['left', 'right'],
      additionalProperties: false,
    },
  ),
  tool('test_internal_failure', 'Breaks inside.', () => {
    throw new Error('a secret of the inside');
  }),
  tool('json_schema_2020_12_tool', 'Has a schema with most keywords.', () => text('Nothing was done.'), schema2020),
  tool('dotted.name_tool', 'Is called like the tools of Gantry.', ({ word }) => text(`Dotted: ${String(word)}`), {
    type: 'object',
    properties: { word: { type: 'string' } },
    required: ['word'],
    additionalProperties: false,
  }),
]);

const prompts: readonly ListedPrompt[] = [
  { name: 'test_simple_prompt', description: 'A prompt without arguments.' },
  {
    name: 'test_prompt_with_arguments',
    description: 'A prompt with two arguments.',
    arguments: [
      { name: 'arg1', description: 'The first', required: true },
      { name: 'arg2', description: 'The second', required: true },
    ],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt that carries a resource.',
    arguments: [{ name: 'resourceUri', description: 'Which one', required: true }],
  },
  { name: 'test_prompt_with_image', description: 'A prompt that carries an image.' },
];

const user = (content: JsonObject) => ({ role: 'user', content });

function prompt(name: string, args: Readonly<Record<string, string>>): { messages: JsonObject[] } {
  if (name === 'test_simple_prompt') {
    return { messages: [user({ type: 'text', text: 'This is a simple prompt for testing.' })] };
  }
  if (name === 'test_prompt_with_arguments') {
    const said = `Prompt with arguments: arg1='${args.arg1}', arg2='${args.arg2}'`;
    return { messages: [user({ type: 'text', text: said })] };
  }
  if (name === 'test_prompt_with_image') {
    const image = user({ type: 'image', data: png, mimeType: 'image/png' });
    return { messages: [image, user({ type: 'text', text: 'Please analyze the image above.' })] };
  }
  return {
    messages: [
      user(embedded(args.resourceUri ?? '', 'Embedded resource content for testing.')),
      user({ type: 'text', text: 'Please process the embedded resource above.' }),
    ],
  };
}

const resources: readonly ListedResource[] = [
  { uri: 'test://static-text', name: 'static-text', description: 'A text.', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'static-binary', description: 'An image.', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'watched-resource', description: 'Never changes.', mimeType: 'text/plain' },
];

const template = /^test:\/\/template\/([^/]+)\/data$/;

function read(uri: string): readonly ResourceContents[] | null {
  if (uri === 'test://static-text') {
    return [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }];
  }
  if (uri === 'test://static-binary') return [{ uri, mimeType: 'image/png', blob: png }];
  if (uri === 'test://watched-resource') return [{ uri, mimeType: 'text/plain', text: 'Watched.' }];
  const id = template.exec(uri)?.[1];
  if (id === undefined) return null;
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return [{ uri, mimeType: 'application/json', text: JSON.stringify(data) }];
}

/** A list in the order of registration. */
export type Order = <T>(items: readonly T[]) => readonly T[];

export interface ProfileOptions {
  readonly order?: Order;
  readonly revision?: string | number;
  readonly more?: Partial<McpServiceOptions>;
}

export const profileInfo = { name: 'gantry-conformance', version: '1.0.0', title: 'Conformance profile' };

/** `order` shuffles what is registered; the lists must not show it. */
export function createProfile({ order = (items) => items, revision = 1, more }: ProfileOptions = {}): McpService {
  const listedTools = order<ListedTool>([...tools.values(), ...inputRequiredTools, ...taskTools]).map(
    ({ name, description, inputSchema, execution }) => ({
      name,
      description: description ?? '',
      inputSchema,
      ...(execution === undefined ? {} : { execution }),
    }),
  );
  const tasks = createProfileTasks();
  const service = createMcpService({
    info: profileInfo,
    instructions: 'A profile for tests.',
    tools: {
      list: () => ({ items: listedTools, revision }),
      call(name, args, _request, wish) {
        if (!tasks.has(name)) return checked(tools.get(name) as FixtureTool, args);
        return wish === null ? tasks.atOnce(name, args) : { task: tasks.create(name, args) };
      },
    },
    tasks: tasks.provider,
    prompts: {
      list: () => ({ items: order([...prompts, ...inputRequiredPrompts]), revision }),
      get: prompt,
    },
    resources: {
      list: () => ({ items: order(resources), revision }),
      templates: () => ({
        items: order([
          {
            uriTemplate: 'test://template/{id}/data',
            name: 'template',
            description: 'Data by id.',
            mimeType: 'application/json',
          },
          { uriTemplate: 'test://another/{id}', name: 'another', description: 'Nothing.' },
        ]),
        revision,
      }),
      read,
    },
    completions: {
      complete: (_, { value }) => ({ values: ['paris', 'park', 'party'].filter((word) => word.startsWith(value)) }),
    },
    ...more,
  });
  return withInputRequired(service);
}

/** What a registry does with arguments that are not what the schema says, as far as these schemas go. */
function checked(fixture: FixtureTool, args: JsonObject): ToolResult | Promise<ToolResult> {
  const { required = [], properties = {} } = fixture.inputSchema as { required?: string[]; properties?: JsonObject };
  const lacking = required.find((name) => args[name] === undefined);
  const foreign = Object.keys(args).find((name) => !Object.hasOwn(properties, name));
  if (lacking !== undefined) return { ...text(`${lacking} is missing.`), isError: true };
  if (foreign !== undefined) return { ...text(`${foreign} is not known.`), isError: true };
  return fixture.call(args);
}
