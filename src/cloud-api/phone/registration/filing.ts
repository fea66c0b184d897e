/** Converts our fields to the words of the carriers' registries and back. Pure. */
import type { BrandAsked, CampaignAsked, TollFreeAsked } from '../carrier/port.ts';
import { type CheckedForm, isSoleProprietor } from './form.ts';
import { linksOf, messageFlowOf } from './message-flow.ts';
import { regionName } from './regions.ts';
import { keywords, repliesOf } from './replies.ts';

interface FilingFacts {
  readonly number: { readonly id: string; readonly e164: string };
  /** Address of the pages that people open. */
  readonly origin: string;
  readonly webhookUrl: string;
}

/** For a sole proprietor without EIN and company. */
export function brandOf(form: CheckedForm, ein: string | null, webhookUrl: string): BrandAsked {
  const { entityType, country, vertical, street, city, postalCode, website } = form;
  const shared = {
    entityType,
    country,
    vertical,
    street,
    city,
    postalCode,
    website,
    webhookUrl,
    displayName: form.brandName,
    state: form.region,
    email: form.contactEmail,
    phone: form.contactPhone,
    firstName: form.contactFirstName,
    lastName: form.contactLastName,
  };
  if (isSoleProprietor(form)) return { ...shared, mobilePhone: form.mobilePhone };
  return {
    ...shared,
    companyName: form.legalName,
    ein: ein ?? undefined,
    stockSymbol: form.stockSymbol,
    stockExchange: form.stockExchange,
    businessContactEmail: entityType === 'PUBLIC_PROFIT' ? form.contactEmail : undefined,
  };
}

export function campaignOf(
  form: CheckedForm,
  { number, origin, webhookUrl }: FilingFacts,
  { brandId, key }: { readonly brandId: string; readonly key: string },
): CampaignAsked {
  const links = linksOf(form, number.id, origin);
  const replies = repliesOf(number, form);
  return {
    brandId,
    key,
    webhookUrl,
    useCase: form.useCase,
    subUseCases: form.subUseCases,
    description: form.description,
    messageFlow: messageFlowOf(number.e164, links),
    samples: form.sampleMessages,
    helpMessage: replies.help,
    optInMessage: replies.start,
    optOutMessage: replies.stop,
    helpKeywords: keywords.help,
    optInKeywords: keywords.start,
    optOutKeywords: keywords.stop,
    termsUrl: links.termsUrl,
    privacyUrl: links.privacyUrl,
  };
}

const defaultMonthlyMessages = 1000;

export function tollFreeOf(form: CheckedForm, ein: string, { number, origin, webhookUrl }: FilingFacts): TollFreeAsked {
  const links = linksOf(form, number.id, origin);
  const replies = repliesOf(number, form);
  const [sample = ''] = form.sampleMessages;
  return {
    e164: number.e164,
    ein,
    webhookUrl,
    sample,
    businessName: form.legalName,
    website: form.website ?? '',
    street: form.street,
    city: form.city,
    state: regionName(form.country, form.region),
    postalCode: form.postalCode,
    country: form.country,
    contactFirstName: form.contactFirstName ?? '',
    contactLastName: form.contactLastName ?? '',
    contactEmail: form.contactEmail,
    contactPhone: form.contactPhone,
    monthlyMessages: form.monthlyMessages ?? defaultMonthlyMessages,
    useCase: form.useCase,
    summary: form.description,
    messageFlow: messageFlowOf(number.e164, links),
    optInUrl: links.optInUrl,
    helpMessage: replies.help,
    optInMessage: replies.start,
    termsUrl: links.termsUrl,
    privacyUrl: links.privacyUrl,
  };
}

const fieldNames: Readonly<Record<string, keyof CheckedForm>> = {
  ein: 'ein',
  TAX_ID: 'ein',
  businessRegistrationNumber: 'ein',
  companyName: 'legalName',
  businessName: 'legalName',
  NONPROFIT: 'entityType',
  GOVERNMENT_ENTITY: 'entityType',
  entityType: 'entityType',
  displayName: 'brandName',
  firstName: 'contactFirstName',
  businessContactFirstName: 'contactFirstName',
  lastName: 'contactLastName',
  businessContactLastName: 'contactLastName',
  email: 'contactEmail',
  businessContactEmail: 'contactEmail',
  phone: 'contactPhone',
  businessContactPhone: 'contactPhone',
  mobilePhone: 'mobilePhone',
  street: 'street',
  businessAddr1: 'street',
  city: 'city',
  businessCity: 'city',
  state: 'region',
  businessState: 'region',
  postalCode: 'postalCode',
  businessZip: 'postalCode',
  country: 'country',
  website: 'website',
  corporateWebsite: 'website',
  vertical: 'vertical',
  STOCK_SYMBOL: 'stockSymbol',
  stockSymbol: 'stockSymbol',
  stockExchange: 'stockExchange',
  usecase: 'useCase',
  useCase: 'useCase',
  subUsecases: 'subUseCases',
  description: 'description',
  useCaseSummary: 'description',
  productionMessageContent: 'sampleMessages',
  messageFlow: 'optInPageUrl',
  optInWorkflow: 'optInPageUrl',
  optInWorkflowImageURLs: 'optInPageUrl',
  termsAndConditionsLink: 'termsUrl',
  termsAndConditionURL: 'termsUrl',
  privacyPolicyLink: 'privacyUrl',
  privacyPolicyURL: 'privacyUrl',
  messageVolume: 'monthlyMessages',
};

/** The field of the form for a carrier's name or path; null: none of ours. */
export function fieldOf(carrierField: string): keyof CheckedForm | null {
  const name = carrierField.split(/[/.[\]]/).findLast((part) => /[a-z]/i.test(part)) ?? '';
  return fieldNames[name] ?? (/^sample/i.test(name) ? 'sampleMessages' : null);
}
