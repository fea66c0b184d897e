/**
 * Questions of a bot, asked in the editor as well as in the inbox. One answer wins: what was answered elsewhere is taken back in the editor, and an answer
 * that comes second changes nothing. Must not know what a question is about.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type AgentContext, methods } from '@agentclientprotocol/sdk';
import type { Approval } from '../../contracts/approvals/approval.ts';
import type { connectHome } from '../approvals/home.ts';

/** How often questions are looked for, in ms. */
const lookMs = 300;

interface Asking {
  readonly home: Awaited<ReturnType<typeof connectHome>>;
  readonly botId: string;
  readonly sessionId: string;
  readonly client: AgentContext;
  /** Aborted when the bot has answered: nothing is asked any more. */
  readonly over: AbortSignal;
}

/** Resolves when `over` and no question is open in the editor. */
export async function askInEditor({ home, botId, sessionId, client, over }: Asking): Promise<void> {
  const open = new Map<string, { readonly back: AbortController; readonly asked: Promise<void> }>();
  const seen = new Set<string>();
  while (!over.aborted) {
    const { approvals } = await home.listApprovals({ query: { state: 'pending' } }).catch(() => ({ approvals: [] }));
    const pending = approvals.filter(({ agentId }) => agentId === botId);
    for (const [id, { back }] of open) if (!pending.some((one) => one.id === id)) back.abort();
    for (const approval of pending) {
      if (seen.has(approval.id)) continue;
      seen.add(approval.id);
      const back = new AbortController();
      const asked = ask(approval, back.signal).finally(() => open.delete(approval.id));
      open.set(approval.id, { back, asked });
    }
    await delay(lookMs, undefined, { signal: over }).catch(() => {});
  }
  for (const { back } of open.values()) back.abort();
  await Promise.all([...open.values()].map(({ asked }) => asked));

  async function ask(approval: Approval, back: AbortSignal): Promise<void> {
    const { id, title, summary, details = [] } = approval;
    const shown = [summary, ...details.map(({ name, text }) => `${name}:\n${text}`)].join('\n\n');
    try {
      const { outcome } = await client.request(
        methods.client.session.requestPermission,
        {
          sessionId,
          toolCall: {
            toolCallId: id,
            title,
            kind: 'other',
            status: 'pending',
            content: [{ type: 'content', content: { type: 'text', text: `\`\`\`\n${shown}\n\`\`\`` } }],
          },
          options: [
            { optionId: 'approve', name: 'Approve', kind: 'allow_once' },
            { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
          ],
        },
        { cancellationSignal: back, stopWaitingOnCancel: true },
      );
      if (outcome.outcome !== 'selected') return;
      const decision = outcome.optionId === 'approve' ? ('approve' as const) : ('reject' as const);
      await home.resolveApproval({ params: { id }, body: { decision } });
    } catch {
      // It was answered elsewhere first, or the editor cannot ask: it waits in the inbox.
    }
  }
}
