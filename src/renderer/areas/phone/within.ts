/** What the phone's frame passes to the pages within it. */
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { ListSource } from '../../ui/list-states.tsx';
import type { PhoneSearch } from './search.ts';

/** What is not named is not open. */
export type Go = (to: Partial<PhoneSearch>, replace?: boolean) => void;

export interface WithinNumber {
  /** As the address has it. */
  readonly id: string;
  /** Undefined: not known, or not known yet. */
  readonly number: PhoneNumber | undefined;
  readonly source: ListSource<readonly PhoneNumber[]>;
  readonly go: Go;
  readonly onBack: () => void;
}
