/** The harnesses that `harnesses.ts` plays. */
import { opencodePlay } from './harness-opencode.ts';
import type { Play } from './harness-play.ts';
import { qwenPlay } from './harness-qwen.ts';

export const plays: readonly Play[] = [opencodePlay, qwenPlay];
