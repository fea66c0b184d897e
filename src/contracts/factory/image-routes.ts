/** The route that keeps an image for a bot. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id } from '../common/values.ts';
import { area, base, errors, people } from './route-parts.ts';

export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
/** Bytes: a screenshot of a large screen fits. */
export const largestImage = 10 * 1024 * 1024;
/** As base64. */
const maxTextLength = Math.ceil(largestImage / 3) * 4;

export const addAgentImage = defineRoute({
  op: 'addAgentImage',
  area,
  errors,
  summary: 'Keeps an image as a file in the bot’s own folder and returns its path, for a message to name',
  method: 'POST',
  path: `${base}/agents/:id/images`,
  auth: people,
  scope: 'bots:act',
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'agent', list: 'gantry agents ls' },
  body: z.strictObject({
    data: z
      .base64()
      .min(1)
      .max(maxTextLength)
      .meta({ description: `The image as base64: PNG, JPEG, GIF or WebP, at most ${largestImage} bytes.` }),
  }),
  bodyLimit: maxTextLength + 1024,
  answers: {
    201: z.strictObject({
      path: z.string().meta({ description: 'Absolute, on the computer of the bot.' }),
      type: z.enum(imageTypes).meta({ description: 'By its content.' }),
      bytes: z.number().int(),
    }),
  },
});
