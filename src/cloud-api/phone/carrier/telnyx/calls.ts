/**
 * Call control on the carrier's wire. A leg is its `call_control_id`; commands repeated with one `command_id` take
 * effect once.
 */
import type Telnyx from 'telnyx';
import { type CarrierCalls, CarrierFault } from '../port.ts';
import { inner, needed, type TelnyxClient } from './client.ts';

const voice = { voice: 'female', language: 'en-US' } as const;
/** Time for pressing keys. */
const patienceMs = 15_000;

export function createTelnyxCalls({ ask }: TelnyxClient, connectionId: string): CarrierCalls {
  const command = async (request: (actions: Telnyx['calls']['actions']) => Promise<unknown>) => {
    await ask({ asked: 'call' }, (telnyx) => request(telnyx.calls.actions));
  };

  return {
    async dial({ from, to, key, linkTo, clientState, timeoutSeconds, detectVoicemail, webhookUrl }) {
      const answer = await ask({ asked: 'call' }, (telnyx) =>
        telnyx.calls.dial({
          connection_id: connectionId,
          from,
          to,
          command_id: key,
          webhook_url: webhookUrl,
          ...(linkTo === undefined ? {} : { link_to: linkTo }),
          client_state: Buffer.from(clientState).toString('base64'),
          timeout_secs: timeoutSeconds,
          ...(detectVoicemail ? { answering_machine_detection: 'detect' as const } : {}),
        }),
      );
      const { call_control_id, call_session_id } = inner(answer);
      return {
        legId: needed(call_control_id, 'the id of a call'),
        sessionId: needed(call_session_id, 'the session of a call'),
      };
    },
    answer: (legId, key) => command((actions) => actions.answer(legId, { command_id: key })),
    async hangup(legId, key) {
      try {
        await command((actions) => actions.hangup(legId, { command_id: key }));
      } catch (error) {
        // The leg has ended already.
        if (!(error instanceof CarrierFault && error.kind === 'gone')) throw error;
      }
    },
    hold: (legId, key) =>
      command((actions) =>
        actions.startPlayback(legId, {
          playback_content: holdTone(),
          audio_type: 'wav',
          loop: 'infinity',
          target_legs: 'self',
          command_id: key,
        }),
      ),
    resume: (legId, key) => command((actions) => actions.stopPlayback(legId, { stop: 'all', command_id: key })),
    // The wire mutes only in conferences: this stops the bot's current speech, and its speaker checks before it continues.
    mute: (legId, key) => command((actions) => actions.stopPlayback(legId, { stop: 'all', command_id: key })),
    unmute: async () => {},
    speak: (legId, text, key) =>
      command((actions) => actions.speak(legId, { payload: text, ...voice, command_id: key })),
    ask: (legId, text, digits, key) =>
      command((actions) =>
        actions.gatherUsingSpeak(legId, {
          payload: text,
          ...voice,
          command_id: key,
          minimum_digits: digits,
          maximum_digits: digits,
          maximum_tries: 1,
          timeout_millis: patienceMs,
        }),
      ),
    dtmf: (legId, digits, key) => command((actions) => actions.sendDtmf(legId, { digits, command_id: key })),
    bridge: (legId, withLegId, key) =>
      command((actions) => actions.bridge(legId, { call_control_id_to_bridge_with: withLegId, command_id: key })),
    transfer: (legId, { to, from, key }) =>
      command((actions) => actions.transfer(legId, { to, from, command_id: key })),
    async isAlive(legId) {
      try {
        const answer = await ask({ asked: 'call', reads: true }, (telnyx) => telnyx.calls.retrieveStatus(legId));
        return inner(answer).is_alive === true;
      } catch (error) {
        if (error instanceof CarrierFault && error.kind === 'gone') return false;
        throw error;
      }
    },
  };
}

/** The sound on hold: a soft tone every two seconds, so that the line does not seem dead. Sent with the command, as no address serves it. */
const rate = 8_000;
const seconds = 2;
const toneSeconds = 0.35;
const pitch = 440;
const loudness = 24;

/** A WAV file of 8-bit samples, in base64. */
function holdTone(): string {
  const samples = Buffer.alloc(rate * seconds, 128);
  const toned = rate * toneSeconds;
  for (let at = 0; at < toned; at += 1) {
    // Fades in and out, so that it does not click.
    const swell = Math.sin((Math.PI * at) / toned);
    samples[at] = 128 + Math.round(loudness * swell * Math.sin((2 * Math.PI * pitch * at) / rate));
  }
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  // PCM, one channel.
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]).toString('base64');
}
