/** Creates a hosted computer, after showing what it is and what it costs. */
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { type HostedComputer, maxNameLength } from '../../../contracts/hosted-computers/computer.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useHandsServices } from './use-hands-services.ts';

export function CreateHosted({
  onClose,
  onCreated,
}: {
  onClose: () => void;
  onCreated: (made: HostedComputer) => void;
}) {
  const { api, keys } = useHandsServices();
  const client = useQueryClient();
  const [name, setName] = useState('');
  /** One key for one wish: pressed again after a cut, it is the same computer. */
  const wish = useRef({ text: '', key: '' });
  const create = useAct(async () => {
    const text = name.trim();
    if (wish.current.key === '' || wish.current.text !== text) wish.current = { text, key: crypto.randomUUID() };
    const made = await api.hosted.createHostedComputer(
      { body: text === '' ? {} : { name: text } },
      { idempotencyKey: wish.current.key },
    );
    client.setQueryData(keys.hosted(made.id), made);
    void client.invalidateQueries({ queryKey: keys.hostedList });
    onCreated(made);
  });
  return (
    <ActDialog
      title="Create a hosted computer"
      description="A separate desktop and browser for your programs."
      label="Create"
      busyLabel="Creating"
      act={create}
      onClose={onClose}
    >
      <ActForm act={create}>
        <TextField
          label="Name"
          description="Empty: chosen for you."
          value={name}
          maxLength={maxNameLength}
          onChange={setName}
        />
        <ul className="list-disc pl-5 text-muted">
          <li>It starts at once. Minutes count only while it runs, not while it sleeps or is stopped.</li>
          <li>It reaches only public addresses, nothing in your network.</li>
          <li>It sleeps when idle and wakes with the next call.</li>
        </ul>
      </ActForm>
    </ActDialog>
  );
}
