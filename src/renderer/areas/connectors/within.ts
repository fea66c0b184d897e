/** What the connectors' frame passes to the pages within it. */
import type { Connector } from '../../../contracts/connectors/connector.ts';
import type { ListSource } from '../../ui/list-states.tsx';
import type { ConnectorsSearch } from './search.ts';

/** What is not named is not open. */
export type Go = (to: Partial<ConnectorsSearch>, replace?: boolean) => void;

export interface WithinConnector {
  /** As the address has it. */
  readonly id: string;
  /** Undefined: not known, or not known yet. */
  readonly connector: Connector | undefined;
  readonly source: ListSource<readonly Connector[]>;
  readonly go: Go;
  readonly onBack: () => void;
}
