// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/results/resultview"
)

func (f *resultsFlags) list(ctx context.Context, format resultview.Format, sorted string, limit int) error {
	if err := f.check(); err != nil {
		return err
	}
	order, err := parseOrder(sorted, &limit)
	if err != nil {
		return cli.Usage(err)
	}
	writer, err := resultview.NewWriter(f.process.Out, format, f.allNamespaces)
	if err != nil {
		return cli.Usage(fmt.Errorf("--%s: %w", outputFlag, err))
	}
	client, namespace, err := f.client()
	if err != nil {
		return err
	}
	in := resultview.Extent{Namespace: namespace}
	by, err := client.Resolve(ctx, in, f.by)
	if err != nil {
		return err
	}
	count := 0
	each := func(r *v1alpha1.PolicyResult) error {
		count++
		return writer.Write(r)
	}
	note := ""
	if order.Field != "" {
		var left int64
		if left, err = client.First(ctx, namespace, by, order, limit, each); left > 0 {
			note = fmt.Sprintf("These are the first %d by %s; %d more are left out: raise --%s, or choose fewer.\n", count, order.Field, left, limitFlag)
		}
	} else {
		var more bool
		if more, err = client.WorstFirst(ctx, namespace, by, limit, each); more {
			note = fmt.Sprintf("These are the worst %d, there are more; raise --%s.\n", count, limitFlag)
		}
	}
	if err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	if count == 0 {
		return f.nothing(ctx, client, in, by)
	}
	fmt.Fprint(f.process.ErrOut, note)
	return nil
}

// parseOrder reads --sort, and says what --limit is with it.
func parseOrder(text string, limit *int) (resultview.Order, error) {
	order, err := resultview.ParseOrder(text)
	switch {
	case err != nil:
		return order, fmt.Errorf("--%s: %w", sortFlag, err)
	case order.Field == "":
	case *limit < 0 || *limit > resultview.MaxOrdered:
		return order, fmt.Errorf("--%s: %d is not from 0 to %d, which is what --%s can show", limitFlag, *limit, resultview.MaxOrdered, sortFlag)
	case *limit == 0:
		*limit = resultview.DefaultOrdered
	}
	return order, nil
}
