/** The sound on hold: a soft tone every two seconds, so that the line does not seem dead. Sent with the command, as no address serves it. */
const rate = 8_000;
const seconds = 2;
const toneSeconds = 0.35;
const pitch = 440;
const loudness = 24;

/** A WAV file of 8-bit samples, in base64. */
export function holdTone(): string {
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
