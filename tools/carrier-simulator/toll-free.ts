/** Verification of toll-free numbers, on the carrier's wire. */
import type {
  RequestRetrieveResponse,
  TfVerificationStatus,
} from 'telnyx/resources/messaging-tollfree/verification/requests';
import { type Call, type Json, ok, type Reply, type Route } from './exchange.ts';
import type { JobHandlers } from './jobs.ts';
import { holderOf } from './numbers.ts';
import { notFound, refused } from './refusal.ts';
import type { SimTollFree } from './state.ts';
import type { World } from './world.ts';

const needed =
  'additionalInformation businessAddr1 businessCity businessContactEmail businessContactFirstName businessContactLastName businessContactPhone businessName businessState businessZip corporateWebsite messageVolume optInWorkflow optInWorkflowImageURLs phoneNumbers productionMessageContent useCase useCaseSummary businessRegistrationNumber businessRegistrationType businessRegistrationCountry'.split(
    ' ',
  );
const volumes = '10|100|1,000|10,000|100,000|250,000|500,000|750,000|1,000,000|5,000,000|10,000,000+'.split('|');
const limits = { optInWorkflow: 500, useCaseSummary: 500, productionMessageContent: 1000, additionalInformation: 500 };

const review: Partial<Record<TfVerificationStatus, TfVerificationStatus>> = {
  'In Progress': 'Waiting For Telnyx',
  'Waiting For Telnyx': 'Waiting For Vendor',
  'Waiting For Vendor': 'Verified',
};

export function createTollFree(world: World): { routes: readonly Route[]; jobs: JobHandlers } {
  const { state } = world;

  function request(call: Call): SimTollFree {
    const found = state.tollFree[call.params.id as string];
    if (found === undefined) throw notFound('verification request');
    return found;
  }

  function check(body: Json): string[] {
    const bad = (detail: string, field: string) =>
      refused(422, '10015', 'Bad Request', detail, { pointer: `/${field}` });
    for (const field of needed) {
      const value = body[field];
      if (value === undefined || value === null || (value === '' && field !== 'additionalInformation'))
        throw refused(422, '10004', 'Missing required parameter', `The '${field}' parameter is required.`, {
          pointer: `/${field}`,
        });
    }
    if (!volumes.includes(String(body.messageVolume)))
      throw bad('messageVolume is none of the volumes.', 'messageVolume');
    if (/^[A-Z]{2}$/.test(String(body.businessState)))
      throw bad('businessState is the whole name of a state.', 'businessState');
    for (const [field, limit] of Object.entries(limits))
      if (String(body[field]).length > limit) throw bad(`${field} has more than ${limit} characters.`, field);
    if (!Array.isArray(body.optInWorkflowImageURLs) || body.optInWorkflowImageURLs.length === 0)
      throw bad('optInWorkflowImageURLs has at least one URL.', 'optInWorkflowImageURLs');
    const e164s = (body.phoneNumbers as { phoneNumber?: unknown }[]).map(({ phoneNumber }) => String(phoneNumber));
    for (const e164 of e164s)
      if (holderOf(state, e164)?.type !== 'toll_free')
        throw bad(`${e164} is not a toll-free number of this account.`, 'phoneNumbers');
    return e164s;
  }

  function create({ body }: Call): Reply {
    const e164s = check(body);
    for (const one of Object.values(state.tollFree))
      if (numbersOf(one).some((e164) => e164s.includes(e164)))
        throw refused(400, '10015', 'Bad Request', `${e164s.join(', ')} is in a verification request already.`, {
          pointer: '/phoneNumbers',
        });
    const made: SimTollFree = {
      id: world.id(),
      asked: { ...body },
      status: 'In Progress',
      reason: null,
      createdAt: world.now(),
    };
    state.tollFree[made.id] = made;
    next(made);
    return ok({ ...shape(made), verificationRequestId: made.id });
  }

  function next({ id, asked, status }: SimTollFree): void {
    world.forget((job) => job.kind === 'toll-free.next' && job.args.id === id);
    if (review[status] === undefined) return;
    world.later({
      what: `verification of ${asked.businessName}: ${review[status]}`,
      kind: 'toll-free.next',
      args: { id },
      after: 4_000,
    });
  }

  function goOn({ id = '' }: Record<string, string>): void {
    const made = state.tollFree[id];
    const to = made === undefined ? undefined : review[made.status];
    if (made === undefined || to === undefined) return;
    const about = numbersOf(made)[0];
    if (to === 'Verified') {
      const waiting = world.strikes('toll_free_waiting', about);
      const rejected = waiting === null ? world.strikes('toll_free_rejected', about) : null;
      const struck = waiting ?? rejected;
      if (struck !== null) {
        made.status = waiting === null ? 'Rejected' : 'Waiting For Customer';
        made.inUse = false;
        made.reason = String(struck.given.reason ?? 'The website does not show how people opt in.');
        tell(made);
        return;
      }
    }
    made.status = to;
    if (to === 'Verified') made.inUse = true;
    tell(made);
    next(made);
  }

  function correct(call: Call): Reply {
    const made = request(call);
    check(call.body);
    made.asked = { ...call.body };
    made.status = 'In Progress';
    made.reason = null;
    next(made);
    return ok({ ...shape(made), verificationRequestId: made.id });
  }

  function tell(made: SimTollFree): void {
    const url = made.asked.webhookUrl;
    world.emit(typeof url === 'string' ? url : null, 'toll_free_verification.status_update', {
      verificationRequestId: made.id,
      verificationStatus: made.status.toLowerCase(),
      phoneNumbers: numbersOf(made).map((phoneNumber) => ({ phoneNumber })),
      ...(made.reason === null ? {} : { reason: made.reason }),
    });
  }

  const at = '/messaging_tollfree/verification/requests';
  return {
    routes: [
      { at: `POST ${at}`, op: 'tollFree.create', handle: create },
      {
        at: `GET ${at}`,
        op: 'tollFree.list',
        handle: ({ query }) => {
          const e164 = query.get('phone_number');
          const all = Object.values(state.tollFree).filter((one) => e164 === null || numbersOf(one).includes(e164));
          const size = Math.max(1, Number(query.get('page_size') ?? 20) || 20);
          const page = Math.max(1, Number(query.get('page') ?? 1) || 1);
          return ok({ records: all.slice((page - 1) * size, page * size).map(shape), total_records: all.length });
        },
      },
      { at: `GET ${at}/:id`, op: 'tollFree.read', handle: (call) => ok(shape(request(call))) },
      { at: `PATCH ${at}/:id`, op: 'tollFree.correct', handle: correct },
      {
        at: `DELETE ${at}/:id`,
        op: 'tollFree.end',
        handle: (call) => {
          const made = request(call);
          world.forget((job) => job.args.id === made.id);
          delete state.tollFree[made.id];
          return ok({});
        },
      },
    ],
    jobs: { 'toll-free.next': goOn },
  };
}

function numbersOf({ asked }: SimTollFree): string[] {
  return (asked.phoneNumbers as { phoneNumber: string }[]).map(({ phoneNumber }) => phoneNumber);
}

function shape(made: SimTollFree): RequestRetrieveResponse {
  return {
    ...(made.asked as unknown as RequestRetrieveResponse),
    id: made.id,
    verificationStatus: made.status,
    ...(made.reason === null ? {} : { reason: made.reason }),
    createdAt: made.createdAt,
    updatedAt: made.createdAt,
  };
}
