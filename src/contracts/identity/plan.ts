/** What a person may use of what costs money; set by `gantry admin`. */
import { z } from 'zod';

export const plans = ['free', 'plus', 'super', 'ultra'] as const;
export const Plan = z.enum(plans);
export type Plan = z.infer<typeof Plan>;
