/** Messaging profiles, the carrier's automatic answers to keywords, and who said STOP, on the carrier's wire. */
import type { MessagingOptoutListResponse } from 'telnyx/resources/messaging-optouts';
import type { AutoRespConfig } from 'telnyx/resources/messaging-profiles/autoresp-configs';
import type { MessagingProfile } from 'telnyx/resources/messaging-profiles/messaging-profiles';
import { type Call, data, optional, page, type Reply, type Route, required, texts } from './exchange.ts';
import { notFound, refused } from './refusal.ts';
import type { SimAutoResponse, SimProfile } from './state.ts';
import type { World } from './world.ts';

/** STOP, START and HELP. The carrier does not let a profile give these words another meaning. */
export const stopWords = ['STOP', 'STOPALL', 'STOP ALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT'];
export const startWords = ['START', 'UNSTOP'];
export const helpWords = ['HELP'];

export function createProfiles(world: World): { routes: readonly Route[] } {
  const { state } = world;

  function profile(call: Call, name = 'id'): SimProfile {
    const found = state.profiles[call.params[name] as string];
    if (found === undefined) throw notFound('messaging profile');
    return found;
  }

  function create({ body }: Call): Reply {
    const destinations = texts(body, 'whitelisted_destinations');
    if (destinations.length === 0)
      throw refused(422, '10004', 'Missing required parameter', 'whitelisted_destinations is required.', {
        pointer: '/whitelisted_destinations',
      });
    const made: SimProfile = {
      id: world.id(),
      name: required(body, 'name'),
      webhookUrl: optional(body, 'webhook_url') || null,
      failoverUrl: optional(body, 'webhook_failover_url') || null,
      destinations,
      enabled: body.enabled !== false,
      createdAt: world.now(),
    };
    state.profiles[made.id] = made;
    return data(shape(made));
  }

  function change(call: Call): Reply {
    const found = profile(call);
    const { body } = call;
    if (body.name !== undefined) found.name = required(body, 'name');
    if (body.webhook_url !== undefined) found.webhookUrl = optional(body, 'webhook_url') || null;
    if (body.webhook_failover_url !== undefined) found.failoverUrl = optional(body, 'webhook_failover_url') || null;
    if (body.whitelisted_destinations !== undefined) found.destinations = texts(body, 'whitelisted_destinations');
    if (typeof body.enabled === 'boolean') found.enabled = body.enabled;
    return data(shape(found));
  }

  function remove(call: Call): Reply {
    const found = profile(call);
    delete state.profiles[found.id];
    state.autoResponses = state.autoResponses.filter(({ profileId }) => profileId !== found.id);
    for (const number of Object.values(state.numbers)) if (number.profileId === found.id) number.profileId = null;
    return data(shape(found));
  }

  function autoResponse(call: Call): SimAutoResponse {
    const found = state.autoResponses.find((one) => one.id === call.params.auto && one.profileId === profile(call).id);
    if (found === undefined) throw notFound('autoresponse');
    return found;
  }

  function readAutoResponse({ body }: Call): Pick<SimAutoResponse, 'op' | 'keywords' | 'text' | 'country'> {
    const op = required(body, 'op');
    if (op !== 'start' && op !== 'stop' && op !== 'info')
      throw refused(422, '10015', 'Bad Request', `op ${op} is none of start, stop, info.`, { pointer: '/op' });
    const keywords = texts(body, 'keywords').map((word) => word.trim().toUpperCase());
    if (keywords.length === 0 || keywords.length > 20)
      throw refused(422, '10015', 'Bad Request', 'keywords has between 1 and 20 words.', { pointer: '/keywords' });
    for (const [own, words] of [
      ['stop', stopWords],
      ['start', startWords],
      ['info', helpWords],
    ] as const)
      for (const word of keywords)
        if (own !== op && words.includes(word))
          throw refused(422, '10015', 'Bad Request', `${word} cannot be given another meaning.`, {
            pointer: '/keywords',
          });
    const text = optional(body, 'resp_text') ?? '';
    if (text.length < 20)
      throw refused(422, '10015', 'Bad Request', 'resp_text is at least 20 characters long.', {
        pointer: '/resp_text',
      });
    return { op, keywords, text, country: required(body, 'country_code') };
  }

  function createAutoResponse(call: Call): Reply {
    const made: SimAutoResponse = {
      id: world.id(),
      profileId: profile(call).id,
      ...readAutoResponse(call),
      createdAt: world.now(),
    };
    state.autoResponses.push(made);
    return data(autoShape(made));
  }

  function optOuts(call: Call): Reply {
    const profileId = call.query.get('filter[messaging_profile_id]');
    const from = call.query.get('filter[from]');
    return page(
      call,
      state.optOuts
        .filter((one) => (profileId === null || one.profileId === profileId) && (from === null || one.from === from))
        .map(
          (one): MessagingOptoutListResponse => ({
            from: one.from,
            to: one.to,
            keyword: one.keyword,
            messaging_profile_id: one.profileId,
            created_at: one.at,
          }),
        ),
    );
  }

  const base = '/messaging_profiles';
  return {
    routes: [
      { at: `POST ${base}`, op: 'profiles.create', handle: create },
      {
        at: `GET ${base}`,
        op: 'profiles.list',
        handle: (call) => {
          const name = call.query.get('filter[name]') ?? call.query.get('filter[name][eq]');
          const all = Object.values(state.profiles).filter((one) => name === null || one.name === name);
          return page(call, all.map(shape));
        },
      },
      { at: `GET ${base}/:id`, op: 'profiles.read', handle: (call) => data(shape(profile(call))) },
      { at: `PATCH ${base}/:id`, op: 'profiles.change', handle: change },
      { at: `DELETE ${base}/:id`, op: 'profiles.delete', handle: remove },
      {
        at: `GET ${base}/:id/phone_numbers`,
        op: 'profiles.numbers',
        handle: (call) => {
          const { id } = profile(call);
          return page(
            call,
            Object.values(state.numbers)
              .filter(({ profileId }) => profileId === id)
              .map((number) => ({
                record_type: 'messaging_phone_number',
                id: number.id,
                phone_number: number.e164,
                messaging_profile_id: id,
              })),
          );
        },
      },
      { at: `POST ${base}/:id/autoresp_configs`, op: 'profiles.setAnswer', handle: createAutoResponse },
      {
        at: `GET ${base}/:id/autoresp_configs`,
        op: 'profiles.answers',
        handle: (call) => {
          const { id } = profile(call);
          return page(call, state.autoResponses.filter(({ profileId }) => profileId === id).map(autoShape));
        },
      },
      {
        at: `GET ${base}/:id/autoresp_configs/:auto`,
        op: 'profiles.answer',
        handle: (call) => data(autoShape(autoResponse(call))),
      },
      {
        at: `PUT ${base}/:id/autoresp_configs/:auto`,
        op: 'profiles.changeAnswer',
        handle: (call) => data(autoShape(Object.assign(autoResponse(call), readAutoResponse(call)))),
      },
      {
        at: `DELETE ${base}/:id/autoresp_configs/:auto`,
        op: 'profiles.deleteAnswer',
        handle: (call) => {
          const found = autoResponse(call);
          state.autoResponses = state.autoResponses.filter((one) => one !== found);
          return { status: 200, body: 'ok' };
        },
      },
      { at: 'GET /messaging_optouts', op: 'profiles.optOuts', handle: optOuts },
    ],
  };
}

function shape(profile: SimProfile): MessagingProfile {
  return {
    id: profile.id,
    record_type: 'messaging_profile',
    name: profile.name,
    enabled: profile.enabled,
    webhook_url: profile.webhookUrl,
    webhook_failover_url: profile.failoverUrl,
    webhook_api_version: '2',
    whitelisted_destinations: profile.destinations,
    created_at: profile.createdAt,
    updated_at: profile.createdAt,
  };
}

function autoShape(one: SimAutoResponse): AutoRespConfig {
  return {
    id: one.id,
    op: one.op,
    keywords: one.keywords,
    resp_text: one.text,
    country_code: one.country,
    created_at: one.createdAt,
    updated_at: one.createdAt,
  };
}
