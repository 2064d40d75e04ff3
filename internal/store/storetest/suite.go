// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"testing"

	"k8s.io/apiserver/pkg/features"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
)

// Run runs the upstream suite, and ours, on stores of engines that open makes.
func Run(t *testing.T, open Open) {
	for _, c := range upstream {
		t.Run(c.name, func(t *testing.T) {
			c.run(context.Background(), t, newPods(t, open))
		})
	}
}

// upstreamCase is a test of k8s.io/apiserver/pkg/storage/testing.
type upstreamCase struct {
	// name of the upstream function.
	name string
	run  func(ctx context.Context, t *testing.T, p *pods)
}

var upstream = []upstreamCase{
	{"RunTestCreate", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestCreate(ctx, t, p, p.checkStored)
	}},
	{"RunTestCreateWithTTL", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestCreateWithTTL(ctx, t, p) }},
	{"RunTestCreateWithKeyExist", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestCreateWithKeyExist(ctx, t, p) }},
	{"RunTestGet", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestGet(ctx, t, p) }},
	{"RunTestUnconditionalDelete", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestUnconditionalDelete(ctx, t, p) }},
	{"RunTestConditionalDelete", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestConditionalDelete(ctx, t, p) }},
	{"RunTestDeleteWithSuggestion", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestDeleteWithSuggestion(ctx, t, p)
	}},
	{"RunTestDeleteWithSuggestionAndConflict", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestDeleteWithSuggestionAndConflict(ctx, t, p)
	}},
	{"RunTestDeleteWithConflict", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestDeleteWithConflict(ctx, t, p) }},
	{"RunTestDeleteWithSuggestionOfDeletedObject", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestDeleteWithSuggestionOfDeletedObject(ctx, t, p)
	}},
	{"RunTestValidateDeletionWithSuggestion", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestValidateDeletionWithSuggestion(ctx, t, p)
	}},
	{"RunTestValidateDeletionWithOnlySuggestionValid", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestValidateDeletionWithOnlySuggestionValid(ctx, t, p)
	}},
	{"RunTestPreconditionalDeleteWithSuggestion", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestPreconditionalDeleteWithSuggestion(ctx, t, p)
	}},
	{"RunTestPreconditionalDeleteWithOnlySuggestionPass", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestPreconditionalDeleteWithOnlySuggestionPass(ctx, t, p)
	}},
	{"RunTestList", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestList(ctx, t, p, p.compact, false, nil)
	}},
	{"RunTestConsistentList", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestConsistentList(ctx, t, p, p.increaseRV, false, true, false)
	}},
	{"RunTestGetListNonRecursive", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestGetListNonRecursive(ctx, t, p.increaseRV, p)
	}},
	{"RunTestGetListRecursivePrefix", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestGetListRecursivePrefix(ctx, t, p)
	}},
	{"RunTestListContinuation", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestListContinuation(ctx, t, p, p.checkCalls)
	}},
	{"RunTestListPaginationRareObject", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestListPaginationRareObject(ctx, t, p, p.checkCalls)
	}},
	{"RunTestListContinuationWithFilter", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestListContinuationWithFilter(ctx, t, p, p.checkCalls)
	}},
	{"RunTestListInconsistentContinuation", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestListInconsistentContinuation(ctx, t, p, p.compact)
	}},
	{"RunTestListResourceVersionMatch", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestListResourceVersionMatch(ctx, t, p)
	}},
	{"RunTestGuaranteedUpdate", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestGuaranteedUpdate(ctx, t, p, p.checkStored)
	}},
	{"RunTestGuaranteedUpdateWithTTL", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestGuaranteedUpdateWithTTL(ctx, t, p)
	}},
	{"RunTestGuaranteedUpdateChecksStoredData", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestGuaranteedUpdateChecksStoredData(ctx, t, p)
	}},
	{"RunTestGuaranteedUpdateWithConflict", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestGuaranteedUpdateWithConflict(ctx, t, p)
	}},
	{"RunTestGuaranteedUpdateWithSuggestionAndConflict", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestGuaranteedUpdateWithSuggestionAndConflict(ctx, t, p)
	}},
	{"RunTestTransformationFailure", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestTransformationFailure(ctx, t, p)
	}},
	{"RunTestStats", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestStats(ctx, t, p, podCodec, value.Transformer(p.prefixTransformer()), true)
	}},
	{"RunTestListPaging", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestListPaging(ctx, t, p) }},
	{"RunTestNamespaceScopedList", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestNamespaceScopedList(ctx, t, p) }},
	{"RunTestCompactRevision", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestCompactRevision(ctx, t, p, p.increaseRV, p.compact)
	}},
	{"RunTestKeySchema", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestKeySchema(ctx, t, p) }},
	{"RunTestWatch", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestWatch(ctx, t, p) }},
	{"RunTestWatchFromZero", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestWatchFromZero(ctx, t, p, p.compact)
	}},
	{"RunTestDeleteTriggerWatch", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestDeleteTriggerWatch(ctx, t, p) }},
	{"RunTestWatchFromNonZero", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestWatchFromNonZero(ctx, t, p) }},
	{"RunTestDelayedWatchDelivery", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestDelayedWatchDelivery(ctx, t, p)
	}},
	{"RunTestWatchError", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestWatchError(ctx, t, p) }},
	{"RunTestWatchWithUnsafeDelete", func(ctx context.Context, t *testing.T, p *pods) {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.AllowUnsafeMalformedObjectDeletion, true)
		storagetesting.RunTestWatchWithUnsafeDelete(ctx, t, p)
	}},
	{"RunTestWatchContextCancel", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestWatchContextCancel(ctx, t, p) }},
	{"RunTestWatcherTimeout", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestWatcherTimeout(ctx, t, p) }},
	{"RunTestWatchDeleteEventObjectHaveLatestRV", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestWatchDeleteEventObjectHaveLatestRV(ctx, t, p)
	}},
	{"RunTestWatchInitializationSignal", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestWatchInitializationSignal(ctx, t, p)
	}},
	{"RunOptionalTestProgressNotify", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunOptionalTestProgressNotify(ctx, t, p, p.increaseRV)
	}},
	{"RunTestClusterScopedWatch", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunTestClusterScopedWatch(ctx, t, p) }},
	{"RunTestNamespaceScopedWatch", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestNamespaceScopedWatch(ctx, t, p)
	}},
	{"RunTestWatchDispatchBookmarkEvents", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestWatchDispatchBookmarkEvents(ctx, t, p, true)
	}},
	{"RunTestOptionalWatchBookmarksWithCorrectResourceVersion", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunTestOptionalWatchBookmarksWithCorrectResourceVersion(ctx, t, p)
	}},
	{"RunSendInitialEventsBackwardCompatibility", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunSendInitialEventsBackwardCompatibility(ctx, t, p)
	}},
	{"RunWatchSemantics", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunWatchSemantics(ctx, t, p) }},
	{"RunWatchSemanticInitialEventsExtended", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunWatchSemanticInitialEventsExtended(ctx, t, p)
	}},
	{"RunWatchListMatchSingle", func(ctx context.Context, t *testing.T, p *pods) { storagetesting.RunWatchListMatchSingle(ctx, t, p) }},
	{"RunWatchErrorIsBlockingFurtherEvents", func(ctx context.Context, t *testing.T, p *pods) {
		storagetesting.RunWatchErrorIsBlockingFurtherEvents(ctx, t, p)
	}},
}

// checkCalls checks how many rows a list decoded and how many queries it made:
// pages double while a selector drops their rows.
func (p *pods) checkCalls(t *testing.T, pageSize, processed uint64) {
	t.Helper()
	const chunk = 64
	if reads := p.prefixTransformer().GetReadsAndReset(); reads < processed || reads > processed+chunk {
		t.Errorf("decoded %d rows, want %d or up to a chunk of %d more", reads, processed, chunk)
	}
	want := uint64(1)
	for page, sum := pageSize, uint64(1); pageSize != 0 && sum < processed; want++ {
		page = min(page*2, 10000)
		sum += page
	}
	if lists := p.engine.lists.Swap(0); lists != want {
		t.Errorf("made %d queries, want %d", lists, want)
	}
}
