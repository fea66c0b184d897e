/** The harnesses that `harnesses.ts` plays. */
import { claudePlay } from './harness-claude.ts';
import { codexPlay } from './harness-codex.ts';
import { copilotPlay } from './harness-copilot.ts';
import { geminiPlay } from './harness-gemini.ts';
import { opencodePlay } from './harness-opencode.ts';
import type { Play } from './harness-play.ts';
import { qwenPlay } from './harness-qwen.ts';

export const plays: readonly Play[] = [claudePlay, codexPlay, copilotPlay, geminiPlay, opencodePlay, qwenPlay];
