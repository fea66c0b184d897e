/** The app's window events: names and details, parsed on receipt. */
import { z } from 'zod';

export const windowEvents = {
  'platform:switch-mode': z.strictObject({ mode: z.literal('code') }),
  'platform:factory-attach-pane': z.strictObject({
    paneId: z.string().min(1),
    botId: z.string().min(1),
    originView: z.string().min(1),
  }),
  'platform:factory-open-node': z.strictObject({ dagId: z.string().min(1), nodeId: z.string().min(1) }),
} as const;

export type WindowEventName = keyof typeof windowEvents;
export type WindowEventDetail<N extends WindowEventName> = z.infer<(typeof windowEvents)[N]>;
