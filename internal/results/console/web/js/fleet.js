// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// What somebody may know of all clusters whose reports are in the database. Most people may not, most databases have one, and older
// servers know nothing of it.

import { ask, clusterSummaries } from './api.js';

/** A question that is answered at once: no cluster has the name. */
const nothing = { filter: 'cluster == ""', limit: 1 };

/**
 * @typedef {Object} Rights
 * @property {boolean} compare to read the summaries of clusters, of which there are several
 * @property {boolean} ask to ask about the results of all, unless it is known that there is one
 */

/** @type {Promise<Rights>|null} */
let known = null;

/** Whether an error says that somebody may not have it, or that it isn't there. */
const refused = (error) => error.code === 403 || error.code === 404;

/**
 * Asks for the rights once; again where trouble was the answer.
 * @returns {Promise<Rights>}
 */
export function fleetRights() {
  const answerOf = (asked) => asked.catch((error) => {
    if (!refused(error)) known = null;
    return null;
  });
  known ??= Promise.all([answerOf(clusterSummaries()), answerOf(ask({ namespace: '', outside: false, fleet: true }, nothing))])
    .then(([all, answer]) => ({ compare: all !== null && all.length > 1, ask: answer !== null && all?.length !== 1 }));
  return known;
}

/**
 * The number of clusters; 0 for who may not read it.
 * @param {AbortSignal} signal
 */
export async function clusterCount(signal) {
  if (!(await fleetRights()).compare) return 0;
  try {
    return (await clusterSummaries(signal)).length;
  } catch (error) {
    if (refused(error)) return 0;
    throw error;
  }
}
