/** What computers may ask for: as far as their operator allows it. Their driver refuses what it cannot hold. Pure. */
import { type ImageRule, mayName } from '../../kit/docker/image-rule.ts';
import { type ComputerRow, refusedSpec } from './model.ts';

export interface ComputerBounds {
  /** Who may name which images; null: everybody any that the driver has. */
  readonly images: readonly ImageRule[] | null;
  /** The longest lifetime, which is also the usual one. Milliseconds; null: no bound. */
  readonly lifetime: number | null;
}

type Wish = Pick<ComputerRow, 'image' | 'memory' | 'processes' | 'lifetime'>;

/** Throws `image_not_allowed` or `lifetime_too_long`. */
export function withinBounds({ images, lifetime: longest }: ComputerBounds, userId: string, wish: Wish): Wish {
  const { image, lifetime } = wish;
  if (image !== null && !mayName(images, userId, image)) {
    throw refusedSpec(
      'image_not_allowed',
      `The image ${image} is not allowed here.`,
      'Name an image that your administrator allows (GANTRY_COMPUTERS_IMAGES), or none for the usual one.',
    );
  }
  if (longest !== null && lifetime !== null && lifetime > longest) {
    throw refusedSpec(
      'lifetime_too_long',
      `A lifetime of ${lifetime / 1000} s is longer than the ${longest / 1000} s that are allowed here.`,
      'Ask for less, or leave it out for the longest (GANTRY_COMPUTERS_LIFETIME).',
    );
  }
  return { ...wish, lifetime: lifetime ?? longest };
}

/** Whether it asks for anything that its driver could refuse although it makes usual ones. */
export const isSpecial = ({ image, memory, processes, lifetime }: Wish): boolean =>
  [image, memory, processes, lifetime].some((asked) => asked !== null);
