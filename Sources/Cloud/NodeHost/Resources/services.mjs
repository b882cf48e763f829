// Adds the server-only functions of `Parse.Cloud` to the SDK.

import { httpRequest } from './httpRequest.mjs';
import { promiseOf } from './sdk.mjs';

/** Defines the functions of `Parse.Cloud`. */
export function installCloud(Parse, registry, connection, log, settings, adapters) {
  const cloud = Parse.Cloud;
  cloud.define = (name, handler, validator) => registry.define(name, handler, validator);
  cloud.job = (name, handler) => registry.job(name, handler);
  for (const event of ['beforeSave', 'afterSave', 'beforeDelete', 'afterDelete', 'beforeFind', 'afterFind']) {
    cloud[event] = (parseClass, handler, validator) => registry.trigger(event, parseClass, handler, validator);
  }
  // The names of file triggers in parse-server up to version 6.
  for (const event of ['beforeSave', 'afterSave', 'beforeDelete', 'afterDelete']) {
    cloud[`${event}File`] = (handler, validator) => registry.trigger(event, Parse.File, handler, validator);
  }
  const accountEvents = {
    beforeLogin: '_User', afterLogin: '_User', afterLogout: '_Session', beforePasswordResetRequest: '_User',
  };
  for (const [event, className] of Object.entries(accountEvents)) {
    cloud[event] = (first, ...rest) => {
      // The class may be specified, although only one is possible.
      const isNamed = typeof first === 'string' || first?.className !== undefined;
      const [handler, validator] = isNamed ? rest : [first, ...rest];
      registry.trigger(event, isNamed ? first : className, handler, validator);
    };
  }
  cloud.beforeConnect = (handler, validator) => registry.trigger('beforeConnect', '@Connect', handler, validator);
  cloud.beforeSubscribe = (parseClass, handler, validator) =>
    registry.trigger('beforeSubscribe', parseClass, handler, validator);
  cloud.afterLiveQueryEvent = (parseClass, handler, validator) =>
    registry.trigger('afterEvent', parseClass, handler, validator);
  cloud.onLiveQueryEvent = () => {
    log.write('warn', 'Parse.Cloud.onLiveQueryEvent has no effect: it reports internals of parse-server.');
  };
  cloud.useMasterKey = () => {
    log.write('warn', 'Parse.Cloud.useMasterKey has no effect. Pass {useMasterKey: true} to each call that needs it.');
  };
  cloud.sendEmail = async mail => {
    if (adapters.sendMail) return adapters.sendMail(mail);
    const answer = await connection.ask('mail', { mail });
    if (answer.error !== undefined) throw new Parse.Error(answer.code ?? 141, answer.error);
    return undefined;
  };
  const requestOnce = async options => [await httpRequest(options)];
  cloud.httpRequest = settings.httpRequest ? options => promiseOf(Parse, requestOnce(options)) : () => {
    throw new Error('Parse.Cloud.httpRequest was removed in parse-server 6. '
      + 'Use fetch, or turn it on with the option cloudHttpRequest.');
  };
  Object.defineProperty(Parse, 'Server', {
    configurable: true,
    get() {
      throw new Error('Parse.Server is internal to parse-server and not supported.');
    },
  });
}
