/** The reason why nobody answers at a number, judged by the present floors. */
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import { useBots, useFloors, useFloorsComplete } from '../../base/floors.tsx';
import { whyNobodyAnswers } from './can-answer.ts';

export function useNobodyAnswers(number: PhoneNumber): string | null {
  const floors = useFloors();
  const bots = useBots();
  const complete = useFloorsComplete();
  // What was never bought has nobody to answer.
  const dead = number.port === null ? number.problem !== null : number.port.state === 'cancelled';
  return dead ? null : whyNobodyAnswers(number, { floors, bots, complete });
}
