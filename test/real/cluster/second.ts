/** A second installation beside the first, in a namespace of its own and on a database of its own, whose computers are in the same namespace. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { personAt } from '../../support/signed-in.ts';
import type { Scenes } from '../scenes.ts';
import { until } from '../scenes.ts';
import { drive, exec, listOf, namespace, type One, podOf, remove } from './computers.ts';
import { minutes, type Stage } from './stage.ts';

const own = 'gantry-two';

/** The objects of the first cloud, with what tells two apart changed. */
async function render({ kubectl, hosts }: Stage): Promise<string> {
  const documents = (await kubectl('kustomize deploy/kubernetes/overlays/mine')).split(/^---$/m);
  const ofCloud = documents.filter(
    (text) => /^ {2}(?:name|namespace): gantry$/m.test(text) || /^kind: RoleBinding$/m.test(text),
  );
  return ofCloud
    .map((text) =>
      text
        .replaceAll(/^( +(?:name|namespace)): gantry$/gm, `$1: ${own}`)
        .replaceAll('gantry-cloud.gantry.svc', `gantry-cloud.${own}.svc`)
        .replaceAll(hosts.cloud, hosts.second)
        .replace(/^metadata:\n {2}name: gantry-computers$/m, `metadata:\n  name: ${namespace}-two`)
        .replace(/^ {2}replicas: 3$/m, '  replicas: 1'),
    )
    .join('---');
}

/** `first`: computers of the first installation. */
export async function playSecond(stage: Stage, scene: Scenes['scene'], first: readonly One[]): Promise<void> {
  const { shell, kubectl, hosts, databaseUrl } = stage;
  const origin = `https://${hosts.second}`;

  await scene('a second installation in the cluster', async () => {
    const before = await listOf(stage);
    const file = join(stage.clone, 'two.yaml');
    writeFileSync(file, await render(stage));
    // The cluster asks the first one for figures; the other has that port too, as it has the same components.
    const hasFigures = (await kubectl('--namespace=gantry get secret gantry-cluster --ignore-not-found')) !== '';
    const serveFigures = ['tls.crt', 'tls.key', 'requestheader-client-ca-file', 'requestheader-allowed-names']
      .map((name) => `--from-file=keys/${name}`)
      .join(' ');
    const url = databaseUrl.replace(/[^/]+$/, 'two');
    await shell(`
psql "$DATABASE_URL" -c 'CREATE DATABASE two'
umask 077; mkdir -p keys-two
for name in master.key internal-token; do openssl rand -base64 33 | tr '/+' '_-' > keys-two/$name; done
printf %s '${url}' > keys-two/database-url; printf %s "$OIDC_CLIENT_SECRET" > keys-two/oidc-client-secret
kubectl create namespace ${own}
kubectl --namespace=${own} create secret generic gantry-cloud --from-file=keys-two
${hasFigures ? `kubectl --namespace=${own} create secret generic gantry-cluster ${serveFigures}` : ''}
kubectl apply -f two.yaml
kubectl --namespace=${own} rollout status deployment/gantry-cloud --timeout=15m`);
    const person = await personAt(origin, 'grace');
    const { user } = await person<{ user: string }>('GET', '/api/v1/session');
    const admin = (words: string) =>
      kubectl(`--namespace=${own} exec -i deployment/gantry-cloud -c cloud -- gantry admin ${words}`);
    await until('it can make computers', async () => /can make computers/.test(await admin('pool')), 3 * minutes);
    await admin(`projects create depot --user ${user} --hosted-driver on`);
    const key = (await admin(`keys create --user ${user} --name depot --scope computers`)).split('\n')[0]!.trim();
    const there: Stage = { ...stage, ask: (...words) => stage.askAt(origin, ...words) };
    const { id } = await there.ask<{ id: string }>(key, 'POST', '/v1/computers', { toolset: 'shell' });
    const one: One = { id, toolset: 'shell', number: 2, key };
    await exec(there, one, 'echo 2 > number');
    const made = (await podOf(stage, one))?.metadata.name;
    // Neither knows what the other has: a computer of the first is none here, by any key.
    await assert.rejects(there.ask(key, 'GET', `/v1/computers/${first[0]!.id}`), /404/);
    await assert.rejects(stage.ask(first[0]!.key, 'GET', `/v1/computers/${id}`), /404/);
    for (const mine of first) await drive(stage, mine);
    await drive(there, one);
    await remove(there, one);
    await kubectl('delete -f two.yaml');
    // What stands for it is left to its operator, and owns nothing any more.
    const left = (await listOf(stage)).filter((line) => !before.includes(line));
    assert.ok(left.length <= 1 && left.every((line) => line.startsWith('ConfigMap')), left.join());
    for (const line of left) await kubectl(`--namespace=${namespace} delete ${line.replace(' ', '/')}`);
    for (const mine of first) await drive(stage, mine);
    return `its computer was ${made}, beside those of the first, and neither saw the other's; ${first.length} of the first were called with it there and after it was removed`;
  });
}
