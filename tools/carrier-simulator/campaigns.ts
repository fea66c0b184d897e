/**
 * Campaigns at the registry, on the carrier's wire: filed, reviewed by three parties in turn, corrected in place,
 * ended.
 */
import type { TelnyxCampaignCsp } from 'telnyx/resources/messaging-10dlc/campaign/campaign';
import { nameOf } from './brands.ts';
import { type Call, type Json, ok, type Reply, type Route } from './exchange.ts';
import type { JobHandlers } from './jobs.ts';
import { notFound, refused, refusedFlat } from './refusal.ts';
import { demanded, entityTypes, given, longest, records, useCases, verticals } from './registry-fields.ts';
import type { SimBrand, SimCampaign } from './state.ts';
import type { World } from './world.ts';

/** Dollars per filing; three months are paid in advance as well. */
const campaignFee = 15;
const monthsAhead = 3;

const failedStates = ['TCR_FAILED', 'TELNYX_FAILED', 'MNO_REJECTED'];
const appealable = ['TELNYX_FAILED', 'MNO_REJECTED'];
const limits = {
  messageFlow: 2048,
  helpMessage: 255,
  sample1: 255,
  sample2: 255,
  sample3: 255,
  sample4: 255,
  sample5: 255,
};

/** From one state to the next: its duration at the demo's speed, and its name there. */
const review: Readonly<Record<string, { readonly to: string; readonly after: number; readonly what: string }>> = {
  TCR_PENDING: { to: 'TCR_ACCEPTED', after: 4_000, what: 'taken by the registry' },
  TCR_ACCEPTED: { to: 'TELNYX_ACCEPTED', after: 5_000, what: 'reviewed by the carrier' },
  TELNYX_ACCEPTED: { to: 'MNO_PENDING', after: 2_000, what: 'handed to the networks' },
  MNO_PENDING: { to: 'MNO_ACCEPTED', after: 5_000, what: 'reviewed by the networks' },
  MNO_ACCEPTED: { to: 'MNO_PROVISIONED', after: 3_000, what: 'set up by the networks' },
};

interface Campaigns {
  readonly routes: readonly Route[];
  readonly jobs: JobHandlers;
}

/** `provisioned` is called for every campaign that may be used from now on. */
export function createCampaigns(world: World, provisioned: (campaign: SimCampaign) => void): Campaigns {
  const { state } = world;
  const { brandOf, next, backIntoReview, jobs } = createReview(world, provisioned);

  function campaign(call: Call): SimCampaign {
    const found = state.campaigns[call.params.id as string];
    if (found === undefined) throw notFound('campaign');
    return found;
  }

  function file({ body }: Call): Reply {
    for (const field of ['brandId', 'usecase', 'description']) demanded(body, field);
    longest(body, { ...limits, description: 4096 });
    const bad = (detail: string, field: string) =>
      refused(400, '10015', 'Bad Request', detail, { pointer: `/${field}` });
    const brand = brandOf(String(body.brandId));
    const usecase = String(body.usecase);
    const monthly = useCases[usecase];
    if (monthly === undefined) throw bad(`${usecase} is no use case.`, 'usecase');
    if (brand.status !== 'OK' || !['VERIFIED', 'VETTED_VERIFIED'].includes(brand.identity))
      throw bad('The brand is not verified.', 'brandId');
    const isSole = brand.asked.entityType === 'SOLE_PROPRIETOR';
    if (isSole !== (usecase === 'SOLE_PROPRIETOR')) throw bad(`${usecase} does not fit this brand.`, 'usecase');
    const live = Object.values(state.campaigns).filter(({ status }) => status !== 'EXPIRED');
    if (isSole && live.some(({ brandId }) => brandId === brand.id))
      throw bad('A sole proprietor brand has one campaign.', 'brandId');
    const reference = given(body, 'referenceId');
    if (reference !== undefined && Object.values(state.campaigns).some(({ asked }) => asked.referenceId === reference))
      throw bad(`referenceId ${reference} has been used.`, 'referenceId');
    const cost = campaignFee + monthsAhead * monthly;
    if (world.strikes('no_funds', 'campaign') !== null || state.account.balance < cost)
      throw refusedFlat(402, '20100', 'Insufficient Funds', 'Your balance does not cover the fees of this campaign.');
    const refusal = world.strikes('campaign_refused', nameOf(brand));
    if (refusal !== null) throw bad(reasonOf(refusal.given, 'The campaign is not allowed.'), 'description');
    const id = world.id();
    world.charge('campaign', cost, id);
    const made: SimCampaign = {
      id,
      tcrId: `C${id.slice(0, 6).toUpperCase()}`,
      brandId: brand.id,
      asked: { ...body },
      state: 'TCR_PENDING',
      status: 'ACTIVE',
      reason: null,
      createdAt: world.now(),
    };
    state.campaigns[id] = made;
    next(made);
    return ok(shape(made));
  }

  /** Updates in place, and reviews again if it had failed. Ignores fields that may not change, like the carrier. */
  function correct(call: Call): Reply {
    const made = campaign(call);
    if (made.status === 'EXPIRED') throw refused(400, '10015', 'Bad Request', 'The campaign has been deactivated.');
    longest(call.body, limits);
    const allowed = [...Object.keys(limits), 'autoRenewal', 'webhookURL', 'webhookFailoverURL', 'resellerId'];
    for (const field of allowed) if (call.body[field] !== undefined) made.asked[field] = call.body[field];
    const again = world.strikes('campaign_reviewed_again', nameOf(brandOf(made.brandId))) !== null;
    if (again) made.inUse = true;
    if (again || failedStates.includes(made.state)) backIntoReview(made);
    return ok(shape(made));
  }

  function appeal(call: Call): Reply {
    const made = campaign(call);
    demanded(call.body, 'appeal_reason');
    if (!appealable.includes(made.state))
      throw refused(400, '10015', 'Bad Request', `A campaign in ${made.state} cannot be appealed.`);
    backIntoReview(made);
    return ok({ appealed_at: world.now() });
  }

  function end(call: Call): Reply {
    const made = campaign(call);
    made.status = 'EXPIRED';
    made.state = 'TCR_EXPIRED';
    world.forget((job) => job.args.id === made.id);
    return ok({ record_type: 'campaign', message: 'Campaign deactivated', time: world.clock.now() });
  }

  function qualify({ params }: Call): Reply {
    const usecase = params.usecase as string;
    brandOf(params.id as string);
    const monthlyFee = useCases[usecase];
    if (monthlyFee === undefined) throw notFound('use case');
    const subs = usecase === 'LOW_VOLUME' ? [1, 5] : usecase === 'MIXED' ? [2, 5] : [0, 0];
    return ok({
      usecase,
      monthlyFee,
      quarterlyFee: monthlyFee * 3,
      annualFee: monthlyFee * 12,
      minSubUsecases: subs[0],
      maxSubUsecases: subs[1],
      mnoMetadata: {},
    });
  }

  const at = '/10dlc/campaign';
  return {
    routes: [
      { at: 'POST /10dlc/campaignBuilder', op: 'campaign.file', handle: file },
      { at: 'GET /10dlc/campaignBuilder/brand/:id/usecase/:usecase', op: 'campaign.qualify', handle: qualify },
      {
        at: `GET ${at}/usecase/cost`,
        op: 'campaign.cost',
        handle: ({ query }) => {
          const usecase = query.get('usecase') ?? '';
          const monthly = useCases[usecase];
          if (monthly === undefined) throw notFound('use case');
          return ok({
            campaignUsecase: usecase,
            description: usecase,
            monthlyCost: monthly.toFixed(2),
            upFrontCost: campaignFee.toFixed(2),
          });
        },
      },
      {
        at: `GET ${at}`,
        op: 'campaign.list',
        handle: (call) => {
          const brandId = call.query.get('brandId');
          return records(
            call,
            Object.values(state.campaigns)
              .filter((one) => brandId === null || one.brandId === brandId)
              .map(shape),
          );
        },
      },
      { at: `GET ${at}/:id`, op: 'campaign.read', handle: (call) => ok(shape(campaign(call))) },
      { at: `PUT ${at}/:id`, op: 'campaign.correct', handle: correct },
      { at: `DELETE ${at}/:id`, op: 'campaign.end', handle: end },
      { at: `POST ${at}/:id/appeal`, op: 'campaign.appeal', handle: appeal },
      {
        at: 'GET /10dlc/enum/:name',
        op: 'registry.enum',
        handle: ({ params }) => {
          const lists: Record<string, unknown> = {
            usecase: Object.keys(useCases),
            vertical: verticals,
            entityType: entityTypes,
          };
          if (lists[params.name as string] === undefined) throw notFound('enumeration');
          return ok(lists[params.name as string]);
        },
      },
    ],
    jobs,
  };
}

/** What three parties make of a campaign in turn, and what befalls it afterwards. */
function createReview(world: World, provisioned: (campaign: SimCampaign) => void) {
  const { state } = world;
  const jobs: JobHandlers = {
    'campaign.next': goOn,
    'campaign.dormant': fallDormant,
    'campaign.suspended': suspend,
  };

  return { brandOf, next, backIntoReview, jobs };

  function brandOf(id: string): SimBrand {
    const found = state.brands[id];
    if (found === undefined) throw notFound('brand');
    return found;
  }

  function next(made: SimCampaign): void {
    world.forget((job) => job.kind === 'campaign.next' && job.args.id === made.id);
    const step = review[made.state];
    if (step === undefined) return;
    const what = `campaign of ${nameOf(brandOf(made.brandId))}: ${step.what}`;
    world.later({ what, kind: 'campaign.next', args: { id: made.id }, after: step.after });
  }

  function goOn({ id = '' }: Record<string, string>): void {
    const made = state.campaigns[id];
    if (made === undefined || made.status !== 'ACTIVE' || state.brands[made.brandId] === undefined) return;
    const step = review[made.state];
    if (step === undefined) return;
    const about = nameOf(brandOf(made.brandId));
    const failing = step.to === 'TELNYX_ACCEPTED' ? 'campaign_telnyx_failed' : 'campaign_mno_rejected';
    const strikes = step.to === 'TELNYX_ACCEPTED' || step.to === 'MNO_ACCEPTED' ? world.strikes(failing, about) : null;
    if (strikes !== null) {
      made.state = failing === 'campaign_telnyx_failed' ? 'TELNYX_FAILED' : 'MNO_REJECTED';
      made.inUse = false;
      made.reason = reasonOf(strikes.given, 'The samples do not match the use case.');
      const type = failing === 'campaign_telnyx_failed' ? 'TELNYX_REVIEW' : 'MNO_REVIEW';
      tell(made, type, { status: 'REJECTED', description: made.reason });
      return;
    }
    made.state = step.to;
    if (step.to === 'TCR_ACCEPTED') tell(made, 'TCR_EVENT', { eventType: 'CAMPAIGN_ADD', status: 'ACCEPTED' });
    if (step.to === 'TELNYX_ACCEPTED') tell(made, 'TELNYX_REVIEW', { status: 'ACCEPTED' });
    if (step.to === 'MNO_ACCEPTED') tell(made, 'MNO_REVIEW', { status: 'ACCEPTED' });
    if (step.to === 'MNO_PROVISIONED') {
      tell(made, 'VERIFIED', { status: 'ACCEPTED' });
      provisioned(made);
      if (world.strikes('campaign_dormant', about) !== null)
        world.later({
          what: `campaign of ${about}: falls dormant`,
          kind: 'campaign.dormant',
          args: { id },
          after: 10_000,
        });
      if (world.strikes('campaign_suspended', about) !== null)
        world.later({
          what: `campaign of ${about}: suspended`,
          kind: 'campaign.suspended',
          args: { id },
          after: 10_000,
        });
    }
    next(made);
  }

  function fallDormant({ id = '' }: Record<string, string>): void {
    const made = state.campaigns[id];
    if (made === undefined) return;
    made.status = 'DORMANT';
    tell(made, 'TELNYX_EVENT', { status: 'DORMANT', description: 'No number has used the campaign.' });
  }

  function suspend({ id = '' }: Record<string, string>): void {
    const made = state.campaigns[id];
    if (made === undefined) return;
    made.state = 'TCR_SUSPENDED';
    made.reason = 'A network suspended the campaign.';
    tell(made, 'TCR_EVENT', { eventType: 'MNO_CAMPAIGN_OPERATION_SUSPENDED', description: made.reason });
  }

  function backIntoReview(made: SimCampaign): void {
    made.state = 'TCR_ACCEPTED';
    made.reason = null;
    next(made);
  }

  function tell(made: SimCampaign, type: string, more: Json): void {
    world.emit(given(made.asked, 'webhookURL') ?? null, '10dlc.campaign.update', {
      type,
      campaignId: made.id,
      tcrCampaignId: made.tcrId,
      brandId: made.brandId,
      cspId: 'SIMULATED',
      ...more,
    });
  }
}

function reasonOf(given: Json, other: string): string {
  return typeof given.reason === 'string' ? given.reason : other;
}

function shape(campaign: SimCampaign): TelnyxCampaignCsp {
  const asked = campaign.asked as Partial<TelnyxCampaignCsp>;
  return {
    ...asked,
    campaignId: campaign.id,
    tcrCampaignId: campaign.tcrId,
    brandId: campaign.brandId,
    cspId: 'SIMULATED',
    mock: false,
    usecase: String(asked.usecase),
    description: String(asked.description),
    subUsecases: asked.subUsecases ?? [],
    termsAndConditions: asked.termsAndConditions ?? false,
    campaignStatus: campaign.state as NonNullable<TelnyxCampaignCsp['campaignStatus']>,
    submissionStatus: 'CREATED',
    status: campaign.status,
    ...(campaign.reason === null ? {} : { failureReasons: campaign.reason }),
    createDate: campaign.createdAt,
  };
}
