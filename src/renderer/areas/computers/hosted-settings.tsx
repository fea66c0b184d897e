/** What keys of the project may do with hosted computers. */
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type ComputerSettings, maxKeyConcurrency } from '../../../contracts/hosted-computers/computer.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Switch } from '../../ui/switch.tsx';
import { SelectField, TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useHandsServices } from './use-hands-services.ts';

export function HostedSettings({ settings, onClose }: { settings: ComputerSettings; onClose: () => void }) {
  const { api, keys } = useHandsServices();
  const client = useQueryClient();
  const [answers, setAnswers] = useState(settings.approval_mode);
  const [browser, setBrowser] = useState(settings.browser_toolset);
  const [max, setMax] = useState(String(settings.per_key_concurrency));
  const count = /^\d{1,2}$/.test(max.trim()) ? Number(max) : 0;
  const problem =
    count < 1 || count > maxKeyConcurrency ? `Enter a whole number from 1 to ${maxKeyConcurrency}.` : undefined;
  const save = useAct(async () => {
    const body = { approval_mode: answers, browser_toolset: browser, per_key_concurrency: count };
    client.setQueryData(keys.hostedSettings, await api.hosted.changeComputerSettings({ body }));
    onClose();
  });
  return (
    <ActDialog
      title="Hosted computer settings"
      description="These apply to every key of your project. A key cannot change them."
      label="Save"
      busyLabel="Saving"
      act={save}
      ready={problem === undefined}
      onClose={onClose}
    >
      <SelectField
        label="Who answers approvals"
        value={answers}
        onChange={setAnswers}
        options={{ owner: 'You, here', api_key: 'You, or a program with a key' }}
      />
      <TextField
        label="Running computers per key"
        problem={problem}
        value={max}
        inputMode="numeric"
        onChange={setMax}
        className="max-w-24"
      />
      <div className="flex items-center gap-3">
        <div className="min-w-0 flex-1">
          <p className="font-medium">Browser tools</p>
          <p className="text-meta text-muted">Off: programs get only the desktop.</p>
        </div>
        <Switch label="Browser tools" on={browser} onChange={setBrowser} />
      </div>
      <p className="text-muted">
        Programs sign in with a{' '}
        <Link to="/settings/keys" className="rounded-control text-accent underline">
          key
        </Link>{' '}
        that has the scope “computers”.
      </p>
    </ActDialog>
  );
}
