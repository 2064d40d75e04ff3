// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	flowcontrol "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// countInterval is how often priority and fairness learns how many objects there are, as in
// kube-apiserver. After three minutes without an answer it assumes the worst.
const countInterval = time.Minute

// countedObjects tells priority and fairness how many objects of each kind there are, and how
// large. It would take a list of all of them for as cheap as a get otherwise.
type countedObjects struct {
	generic.RESTOptionsGetter

	tracker flowcontrol.StorageObjectCountTracker
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (c countedObjects) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := c.RESTOptionsGetter.GetRESTOptions(resource, example)
	options.CountMetricPollPeriod, options.StorageObjectCountTracker = countInterval, c.tracker
	return options, err
}
