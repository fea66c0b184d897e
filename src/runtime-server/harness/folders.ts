/** The folders of harnesses: one line each. */
export { acp } from './acp/adapter.ts';
export { claude } from './claude/adapter.ts';
export { codex } from './codex/adapter.ts';
export { copilot } from './copilot/adapter.ts';
export { custom } from './custom/adapter.ts';
export { gemini } from './gemini/adapter.ts';
export { opencode } from './opencode/adapter.ts';
export { qwen } from './qwen/adapter.ts';
export { shell } from './shell/adapter.ts';
