// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"os"
	"testing"

	"github.com/docket-project/docket/internal/plane/uptest"
)

var server uptest.Server // Shared by the tests of the package.

func TestMain(m *testing.M) { os.Exit(uptest.Run(m, &server)) }
