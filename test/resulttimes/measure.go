// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// line is a request that is measured.
type line struct {
	name string
	// request makes it.
	request func() *rest.Request
	// check returns what an answer has: results, summaries or groups.
	check func(body []byte) (items int, err error)
}

// measureAll measures the lines of a table and prints it. It returns how many failed.
func measureAll(ctx context.Context, title string, lines []line, rounds int, out io.Writer) (failed int, err error) {
	fmt.Fprintf(out, "\n| %s | items | median | shortest | longest |\n|---|---|---|---|---|\n", title)
	for _, l := range lines {
		took, items, err := l.measure(ctx, rounds)
		if ctx.Err() != nil {
			return failed, context.Cause(ctx)
		}
		if err != nil {
			failed++
			fmt.Fprintf(out, "| %s | %s | | | |\n", l.name, strings.ReplaceAll(err.Error(), "|", "\\|"))
			continue
		}
		fmt.Fprintf(out, "| %s | %d | %s | %s | %s |\n", l.name, items, millis(took[len(took)/2]), millis(took[0]), millis(took[len(took)-1]))
	}
	return failed, nil
}

// measure sends a request so often, and returns the times from its start to the end of the answer, in their order.
func (l *line) measure(ctx context.Context, rounds int) (took []time.Duration, items int, err error) {
	for range rounds {
		start := time.Now()
		body, err := send(ctx, l.request())
		took = append(took, time.Since(start))
		if err != nil {
			return nil, 0, err
		}
		if items, err = l.check(body); err != nil {
			return nil, 0, err
		}
	}
	slices.Sort(took)
	return took, items, nil
}

// send returns the body of an answer of success.
func send(ctx context.Context, request *rest.Request) ([]byte, error) {
	status := 0
	result := request.Do(ctx).StatusCode(&status)
	body, err := result.Raw()
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK && status != http.StatusCreated {
		return nil, fmt.Errorf("status %d in place of 200 or 201", status)
	}
	return body, nil
}

func millis(d time.Duration) string {
	ms := float64(d.Microseconds()) / 1000
	if ms < 10 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// load returns the load of this machine, which the server often shares, of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) == 0 {
		return "unknown on this system"
	}
	return fmt.Sprintf("%s on %d cores", fields[0], runtime.NumCPU())
}

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
