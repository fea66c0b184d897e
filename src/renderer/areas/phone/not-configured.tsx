/** What numbers require first: the demo phone, or a carrier's account. */
import { Card } from '../../ui/card.tsx';
import { Command } from '../../ui/copy.tsx';

export function NotConfigured() {
  return (
    <div data-state="empty" className="flex max-w-[680px] flex-col gap-3 p-4 max-sm:border-t max-sm:border-line">
      <p>
        Bots can have phone numbers that people text and call. Numbers come from a carrier, and none is configured at
        this computer’s home.
      </p>
      <Card title="Try it without a carrier">
        <div className="flex flex-col items-start gap-2 p-3">
          <p className="text-muted">
            A simulated carrier and handsets on this page show everything: buying, registration, texts, STOP, calls and
            transfers. Nothing is real and nothing costs money. Stop Gantry, then run:
          </p>
          <Command text="npx gantry start --demo-phone" />
        </div>
      </Card>
      <Card title="Use a real carrier">
        <div className="flex flex-col items-start gap-2 p-3">
          <p className="text-muted">
            You need a Telnyx account. Set these where Gantry starts (at its cloud, if it is paired with one), then
            restart it:
          </p>
          <ul className="flex max-w-full flex-col gap-1">
            {settings.map(([name, says]) => (
              <li key={name} className="flex min-w-0 flex-wrap items-baseline gap-x-2">
                <code className="font-mono text-code wrap-anywhere">{name}</code>
                <span className="text-meta text-muted">{says}</span>
              </li>
            ))}
          </ul>
          <p className="text-muted">
            Buying a number also needs a plan that includes numbers: Plus 3, Super 5, Ultra 10.
          </p>
        </div>
      </Card>
    </div>
  );
}

const settings = [
  ['GANTRY_TELNYX_API_KEY', 'an API key of the account'],
  ['GANTRY_TELNYX_PUBLIC_KEY', 'the key that its webhooks are signed with'],
  ['GANTRY_TELNYX_CONNECTION_ID', 'the Call Control application that calls go through'],
] as const;
