// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/docket-project/docket/api/report"
)

const (
	// pageSize is the number of reports in one request. They are decoded one by one, so that a page is
	// never in memory as a whole.
	pageSize = 500
	// listAttempts is how often a list is begun if it expires while it is read.
	listAttempts = 3
)

// list calls each for all reports of a kind that the selector matches. If the list expires while it is read,
// it starts over, so that each may be called more than once for a report.
func (r *remote) list(ctx context.Context, api API, k kind, selector string, each func(report.Accessor) error) error {
	var err error
	for range listAttempts {
		next := ""
		for more := true; more && err == nil; more = next != "" {
			next, err = r.page(ctx, api, k, selector, next, each)
		}
		if !apierrors.IsResourceExpired(err) {
			return err
		}
	}
	return err
}

// page reads one page and returns where the next one starts.
func (r *remote) page(ctx context.Context, api API, k kind, selector, from string, each func(report.Accessor) error) (next string, err error) {
	request := at(r.groups[api].Get(), k, reportKey{}).
		Param("labelSelector", selector).Param("limit", strconv.Itoa(pageSize))
	if from != "" {
		request = request.Param("continue", from)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	next, err = decodeList(json.NewDecoder(io.LimitReader(body, pageSize*maxObject)), k, each)
	if err != nil {
		return "", fmt.Errorf("read the list of %s: %w", k.resource, err)
	}
	return next, nil
}

// decodeList reads a list item by item.
func decodeList(d *json.Decoder, k kind, each func(report.Accessor) error) (next string, err error) {
	if err := expect(d, '{'); err != nil {
		return "", err
	}
	for d.More() {
		field, err := d.Token()
		if err != nil {
			return "", err
		}
		switch field {
		case "items":
			err = decodeItems(d, k, each)
		case "metadata":
			var metadata struct {
				Continue string `json:"continue"`
			}
			err = d.Decode(&metadata)
			next = metadata.Continue
		default:
			var ignored json.RawMessage
			err = d.Decode(&ignored)
		}
		if err != nil {
			return "", err
		}
	}
	return next, expect(d, '}')
}

func decodeItems(d *json.Decoder, k kind, each func(report.Accessor) error) error {
	token, err := d.Token()
	if err != nil || token == nil {
		return err // A list without items may have null.
	}
	if token != json.Delim('[') {
		return fmt.Errorf("items begin with %v", token)
	}
	for d.More() {
		object := k.empty()
		if err := d.Decode(object); err != nil {
			return err
		}
		if err := each(object); err != nil {
			return err
		}
	}
	return expect(d, ']')
}

func expect(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err == nil && token != want {
		err = fmt.Errorf("found %v where %v should be", token, want)
	}
	return err
}
