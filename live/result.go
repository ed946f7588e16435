package live

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// result lists what was done and what is pending, or for a dry run what would be done.
func (p *Planned) result(dryRun bool) Result {
	result := Result{Changes: []clustermanager.Change{}, Written: p.written()}
	why := "since nothing runs that would"
	for _, of := range p.items {
		if of.unread != nil {
			why = "since nothing is known to run that would"
			result.Warnings = append(result.Warnings, nameOf(of.step)+": whether it still runs could not be read, so it counts as not running: "+of.unread.Error())
		}
		for _, one := range of.objects {
			if one.action != "" {
				result.Changes = append(result.Changes, one.change(dryRun))
			}
		}
		result.Warnings = append(result.Warnings, of.warnings(dryRun, why)...)
	}
	result.Warnings = joined(result.Warnings, p.left())
	return result
}

func (o *object) change(dryRun bool) clustermanager.Change {
	change := clustermanager.Change{ObjectReference: o.reference, Action: o.action, Changes: o.changes}
	if !dryRun && o.writes() && !o.done && o.action != clustermanager.ActionTerminating {
		change.Action = clustermanager.ActionPending
	}
	return change
}

// warnings tell what an action alone does not; why is the reason that finalizers are taken off.
func (i *item) warnings(dryRun bool, why string) []string {
	was, has := "was", "has been"
	if dryRun {
		was, has = "would be", "would be"
	}
	var warnings, taken []string
	for _, one := range i.objects {
		told := dryRun || one.done
		switch {
		case one.stuck != "" && told:
			warnings = append(warnings, fmt.Sprintf("%s: its removal stands at %s, and it %s asked to try again", one.reference, one.stuck, was))
		case one.held != "" && (told || one.action == clustermanager.ActionUnchanged):
			warnings = append(warnings, fmt.Sprintf("%s: it is kept, since it %s; it %s marked as retired", one.reference, one.retirement(), has))
		case one.action == clustermanager.ActionDelete && len(one.step.Finalizers) > 0 && told:
			taken = append(taken, clustermanager.NamespacedName{Namespace: one.reference.Namespace, Name: one.reference.Name}.String())
		}
	}
	if len(taken) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s %s: removed with %s taken off, %s", i.objects[0].reference.Kind,
			strings.Join(taken, ", "), strings.Join(i.step.Finalizers, ", "), why))
		if dryRun {
			warnings[len(warnings)-1] = strings.Replace(warnings[len(warnings)-1], ": removed with", ": would be removed with", 1)
		}
	}
	return warnings
}

// left are the objects that are left alone, by the reason.
func (p *Planned) left() map[string][]string {
	left := map[string][]string{}
	for _, of := range p.items {
		for _, one := range of.objects {
			if one.left != "" {
				name := one.reference.String()
				if one.reference.Name == "" {
					name = nameOf(of.step)
				}
				left[one.left] = append(left[one.left], name)
			}
		}
	}
	return left
}

// joined adds one warning for each reason.
func joined(warnings []string, left map[string][]string) []string {
	var added []string
	for reason, names := range left {
		text := strings.Join(names, ", ") + ": left as it is: " + reason
		if len(names) > 1 {
			text = strings.Join(names, ", ") + ": left as they are: " + reason
		}
		added = append(added, text)
	}
	slices.Sort(added)
	return append(warnings, added...)
}

// written counts the objects that were written.
func (p *Planned) written() int {
	count := 0
	for _, of := range p.items {
		for _, one := range of.objects {
			if one.done {
				count++
			}
		}
	}
	return count
}

// nextStep says what stopped the writes, how far they came and what to do.
func (p *Planned) nextStep(stopped error) string {
	pending := 0
	for _, of := range p.items {
		for _, one := range of.objects {
			if one.writes() && !one.done {
				pending++
			}
		}
	}
	reason, then := stopped.Error(), "see to that, then call again"
	if errors.Is(stopped, errTime) {
		then = "call again"
	}
	return fmt.Sprintf("%s: %d done, %d pending; %s with the same arguments, which goes on from here",
		clustermanager.OneLine(reason, 0), p.written(), pending, then)
}

func compareNames(a, b clustermanager.ObjectReference) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
