// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"encoding/json"
	"fmt"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// checkKeys is confinedKeys for the rules that verify images.
func checkKeys(decoded kyvernov1.PolicyInterface) error {
	if !decoded.IsNamespaced() {
		return nil
	}
	for _, rule := range decoded.GetSpec().Rules {
		data, err := json.Marshal(rule.VerifyImages)
		if err != nil {
			return fmt.Errorf("rule %s: verifyImages: %w", rule.Name, err)
		}
		var images any
		if err := json.Unmarshal(data, &images); err != nil {
			return fmt.Errorf("rule %s: verifyImages: %w", rule.Name, err)
		}
		if err := base.ConfinedKeys(images); err != nil {
			return fmt.Errorf("rule %s: verifyImages: %w", rule.Name, err)
		}
	}
	return nil
}
