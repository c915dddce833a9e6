package core

import "context"

func validWait(context.Context, []string, WaitInfo, *WaitBinding) (WaitValidation, error) {
	return WaitValidation{Status: WaitValid}, nil
}
