// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// pageOf checks that a page has as many results as are selected, up to its limit, and only such.
func pageOf(want int64, meets func(*v1alpha1.PolicyResult) bool) func([]byte) (int, error) {
	return func(body []byte) (int, error) {
		var list v1alpha1.PolicyResultList
		if err := json.Unmarshal(body, &list); err != nil {
			return 0, err
		}
		if int64(len(list.Items)) != want {
			return 0, fmt.Errorf("the page has %d results in place of %d", len(list.Items), want)
		}
		for i := range list.Items {
			if r := &list.Items[i]; !meets(r) {
				return 0, fmt.Errorf("result %s/%s is not selected", r.Namespace, r.Name)
			}
		}
		return len(list.Items), nil
	}
}

// listOf checks the number of items of a list.
func listOf(want int) func([]byte) (int, error) {
	return func(body []byte) (int, error) {
		items, err := someList(body)
		if err == nil && items != want {
			err = fmt.Errorf("the list has %d items in place of %d", items, want)
		}
		return items, err
	}
}

// someList checks that a list has items.
func someList(body []byte) (int, error) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return 0, err
	}
	if len(list.Items) == 0 {
		return 0, errors.New("the list is empty")
	}
	return len(list.Items), nil
}

// groupsOf checks that groups have as many results together as are selected, or at most that many unless it is exact.
// So have groups of which there are more.
func groupsOf(want int64, exact bool) func([]byte) (int, error) {
	return func(body []byte) (int, error) {
		var answer v1alpha1.ResultQuery
		if err := json.Unmarshal(body, &answer); err != nil {
			return 0, err
		}
		results := int64(0)
		for _, group := range answer.Status.Groups {
			results += group.Results
		}
		switch {
		case results > want, exact && !answer.Status.More && results != want:
			return 0, fmt.Errorf("the groups have %d results in place of %d", results, want)
		case exact && want > 0 && results == 0:
			return 0, errors.New("there are no groups")
		}
		return len(answer.Status.Groups), nil
	}
}

// orderOf checks the number of results in an order.
func orderOf(want int64) func([]byte) (int, error) {
	return func(body []byte) (int, error) {
		var answer v1alpha1.ResultQuery
		if err := json.Unmarshal(body, &answer); err != nil {
			return 0, err
		}
		if n := int64(len(answer.Status.Results)); n != want {
			return 0, fmt.Errorf("there are %d results in place of %d", n, want)
		}
		return len(answer.Status.Results), nil
	}
}
