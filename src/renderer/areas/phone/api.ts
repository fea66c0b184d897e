/** The calls of the area of the phone, loaded with it: its route tables are large, and most pages need none of them. Must not know React. */
import { type ClientOptions, createClient } from '../../../client/client.ts';
import * as calls from '../../../contracts/phone/calls.ts';
import { demoRoutes } from '../../../contracts/phone/demo.ts';
import * as numbers from '../../../contracts/phone/number.ts';
import * as registration from '../../../contracts/phone/registration.ts';
import * as texts from '../../../contracts/phone/texts.ts';

/** `home` reaches the cloud, which has the numbers. */
export function createPhoneApi(home: ClientOptions) {
  return {
    numbers: createClient(
      [
        numbers.searchNumbers,
        numbers.listNumbers,
        numbers.buyNumber,
        numbers.portNumber,
        numbers.getPort,
        numbers.correctPort,
        numbers.moveNumber,
        numbers.releaseNumber,
        numbers.listInvites,
        numbers.createInvite,
        numbers.deleteInvite,
        registration.submitRegistration,
        registration.getRegistration,
        registration.confirmRegistration,
      ],
      home,
    ),
    texts: createClient(
      [
        texts.sendText,
        texts.listConversations,
        texts.listTexts,
        texts.listOptOuts,
        texts.addOptOut,
        texts.getOwnPhone,
        texts.putOwnPhone,
        texts.deleteOwnPhone,
      ],
      home,
    ),
    calls: createClient(
      [
        calls.recordConsent,
        calls.listConsents,
        calls.askForCall,
        calls.listCalls,
        calls.dial,
        calls.controlCall,
        calls.getBotConfig,
        calls.putBotConfig,
      ],
      home,
    ),
    demo: createClient(demoRoutes, home),
  };
}

export type PhoneApi = ReturnType<typeof createPhoneApi>;
