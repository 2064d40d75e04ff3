// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/docket-project/docket/test/e2e/harness"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := harness.StopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "end the shared control plane:", err)
		code = 1
	}
	os.Exit(code)
}
