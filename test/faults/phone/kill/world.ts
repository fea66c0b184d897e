/**
 * A Gantry as its command starts it, with a carrier beside it that outlives every kill, and people who buy numbers, register them and
 * text. What a person asked for without an answer is asked for again, as people do; a text never is.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createSimulator, type Simulator } from '../../../../tools/carrier-simulator/simulator.ts';
import { CallError } from '../../../support/bench/http.ts';
import { type Product, type ScratchHome, scratchHome, startProduct } from '../../../support/bench/product.ts';
import { freePort } from '../../../support/free-port.ts';
import { out, type Told } from './verdicts.ts';

const numbers = '/api/v1/phone/numbers';
const page = 'https://bakery.example.com/texts';
const textsEach = 3;
/** Every fee of a run, and more. */
const balance = 1_000_000;
/** After a text of theirs that may have been lost on its way. */
const againMs = 1_000;
const pauseMs = 50;

export interface World {
  readonly sim: Simulator;
  readonly told: readonly Told[];
  readonly home: ScratchHome;
  up(): Promise<Product>;
  kill(): Promise<void>;
  /** One more business comes. */
  add(): void;
  /** Goes on with each that is not done; answers whether all are. */
  turn(signal: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}

interface Business {
  readonly n: number;
  readonly name: string;
  readonly e164: string;
  id: string | null;
  filed: boolean;
  approved: boolean;
  heardAt: number | null;
  /** Texts that were asked for, whatever became of them. */
  asked: number;
  readonly sent: string[];
  released: boolean;
}

const formOf = ({ n, name }: Business) => ({
  legalName: name,
  brandName: name,
  ein: `45-98${10_001 + n * 7}`,
  website: 'https://bakery.example.com',
  street: '12 Mill Lane',
  city: 'Fort Collins',
  region: 'CO',
  postalCode: '80521',
  contactEmail: 'ada@bakery.example.com',
  contactPhone: '+19705550111',
  // Carriers cannot open pages of a Gantry on this machine.
  optInPageUrl: page,
  termsUrl: page,
  privacyUrl: page,
  useCase: 'LOW_VOLUME',
  sampleMessages: [
    'Your rye loaf is ready until six. Reply STOP to opt out.',
    'We open at seven tomorrow. Anything else?',
  ],
});

export async function createWorld(): Promise<World> {
  const sim = await createSimulator({ speed: 'instant' });
  sim.state.account.balance = balance;
  const port = await freePort();
  const scratch = scratchHome();
  const home = {
    ...scratch,
    env: {
      ...scratch.env,
      GANTRY_TELNYX_API_KEY: sim.apiKey,
      GANTRY_TELNYX_PUBLIC_KEY: sim.publicKey,
      GANTRY_TELNYX_CONNECTION_ID: '1',
      GANTRY_TELNYX_URL: sim.url,
    },
  };
  const person = sim.handsets.add('Grace').e164;
  const told: Business[] = [];
  let product: Product | null = null;
  let computer = '';

  async function up(): Promise<Product> {
    if (product !== null) return product;
    product = await startProduct(home, { port });
    const session = await product.web.call<{ computer: { id: string } }>('GET', '/api/v1/session');
    computer = session.computer.id;
    return product;
  }

  async function step(one: Business, { web }: Product): Promise<void> {
    if (one.id === null) return buy(one, web);
    const registration = `${numbers}/${one.id}/registration`;
    if (!one.filed) {
      await web.call('POST', registration, formOf(one));
      one.filed = true;
      return;
    }
    if (!one.approved) {
      const { smsState } = await web.call<{ smsState: string }>('GET', registration);
      one.approved = smsState === 'active';
      return;
    }
    if (one.asked < textsEach) return text(one, web);
    // A text that a kill caught on its way leaves up to two minutes later; one that waits when its number is released is cancelled, as it should be.
    const left = new Set(out(sim.state));
    if (!one.sent.every((words) => left.has(words))) return;
    await web.call('DELETE', `${numbers}/${one.id}`);
    one.released = true;
  }

  async function buy(one: Business, web: Product['web']): Promise<void> {
    const mine = await web.call<{ numbers: { id: string; e164: string; voiceState: string }[] }>('GET', numbers);
    const there = mine.numbers.find(({ e164 }) => e164 === one.e164);
    if (there?.voiceState === 'active') one.id = there.id;
    if (there !== undefined) return;
    await web.call('POST', numbers, { e164: one.e164, runtimeId: computer, botId: 'root' });
  }

  async function text(one: Business, web: Product['web']): Promise<void> {
    if (one.heardAt === null || performance.now() - one.heardAt > againMs) {
      one.heardAt = performance.now();
      sim.text({ from: person, to: one.e164, text: `hello ${one.name}` });
    }
    const words = `${one.name} says ${one.asked}`;
    try {
      // Whatever becomes of it: nobody sends it again.
      one.asked += 1;
      await web.call('POST', '/api/v1/channels/sms/send', { numberId: one.id, to: person, text: words });
      one.sent.push(words);
    } catch (error) {
      // They have not been heard yet: nothing was sent.
      if (error instanceof CallError && error.status === 403) one.asked -= 1;
      throw error;
    }
  }

  return {
    sim,
    told,
    home,
    up,
    async kill() {
      await product?.kill();
      product = null;
    },
    add() {
      const n = told.length;
      const e164 = `+1970555${String(100 + n).padStart(4, '0')}`;
      const at = { n, name: `Bakery ${n} LLC`, e164, id: null, filed: false, approved: false, heardAt: null };
      told.push({ ...at, asked: 0, sent: [], released: false });
    },
    async turn(signal) {
      const left = told.filter(({ released }) => !released);
      await Promise.all(
        left.map(async (one) => {
          while (!one.released && !signal.aborted) {
            const running = product;
            if (running === null) return;
            // What it was doing when it was killed fails; what is refused for now is asked for again.
            await step(one, running).catch(() => {});
            await delay(pauseMs);
          }
        }),
      );
      return told.every(({ released }) => released);
    },
    async close() {
      await product?.stop();
      await sim.close();
      await scratch.remove();
    },
  };
}
