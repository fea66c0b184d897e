/** A person's plan, their allowance of paid services; set by `gantry admin`. */
import { z } from 'zod';

export const plans = ['free', 'plus', 'super', 'ultra'] as const;
export const Plan = z.enum(plans);
export type Plan = z.infer<typeof Plan>;
