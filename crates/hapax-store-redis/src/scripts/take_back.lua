-- Takes back a delivery that runs: one loss more, and too many are its end.
-- Answers: id, destination, the attempt that was lost, losses, and where its lane goes on: the step, the lane and its ticket.
local function take_back(id, to, work, losses_max)
    work.token = next_number(floor)
    work.attempts = math.max(work.attempts - 1, 0)
    work.lost = work.lost + 1
    local answer = { id, to, work.attempts + 1, work.lost }
    if work.lost < losses_max then
        wait_until(id, to, work, now)
    else
        local step = finish(id, to, work, 'dead', 'lost')
        if step then
            table.insert(answer, step)
            table.insert(answer, work.lane)
            table.insert(answer, work.ticket)
        end
    end
    return answer
end
